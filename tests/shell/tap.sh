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

# The others of ten runs tell how busy the machine is.
fastest_us() { # COMMAND...
  local start took best=999999999
  for _ in {1..10}; do
    start=${EPOCHREALTIME/./}
    "$@" >/dev/null
    took=$((${EPOCHREALTIME/./} - start))
    ((took < best)) && best=$took
  done
  echo "$best"
}

finish() {
  echo "1..$number"
  exit $bad
}
