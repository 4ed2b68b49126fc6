#!/bin/bash
# Sourced by shell tests: each `check` prints one TAP line, `finish` the plan.

number=0
bad=0

check() { # NAME GOT WANTED: equal, or WANTED is a pattern that GOT matches
  number=$((number + 1))
  # shellcheck disable=SC2053
  if [[ $2 == $3 ]]; then
    echo "ok $number - $1"
  else
    bad=1
    printf 'not ok %d - %s\n# expected: %s\n# got: %s\n' $number "$1" "$3" "${2//$'\n'/$'\n# '}"
  fi
}

skip() { # NAME WHY
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}

# Whether a run takes less: that others take more tells how busy the machine is.
takes_less() { # MICROSECONDS COMMAND...: "yes", or what the best of forty took
  local start took best=999999999
  for _ in {1..40}; do
    start=${EPOCHREALTIME/./}
    "${@:2}" >/dev/null
    took=$((${EPOCHREALTIME/./} - start))
    ((took < best)) && best=$took
    ((best < $1)) && echo yes && return
  done
  echo "$best us at best"
}

finish() {
  echo "1..$number"
  exit $bad
}
