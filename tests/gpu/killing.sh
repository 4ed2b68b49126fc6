# shellcheck shell=bash disable=SC2034 # read by those who source this
# Sourced by tests that kill judges: tests/shell/test_death.sh on the simulator, tests/gpu/death on a GPU. $perigee and
# $top, a folder of the test's own, are set before.

# What a judge starts has its PATH, so theirs tells it from the processes of other tests. An interactive shell does not
# ignore SIGINT for a judge, as a script does for what it puts into the background.
marked=(env --default-signal=INT "PATH=$PATH:$top")
judge=0

alive() { # how many processes of the judges of this test there are, but for the judge
  local file count=0
  while read -r file; do
    [[ $file == "/proc/$judge/environ" ]] || count=$((count + 1))
  done < <(grep -la "PATH=.*$top" /proc/[0-9]*/environ 2>/dev/null)
  echo $count
}
left() { # the same after at most two seconds in which they may end
  for _ in {1..20}; do
    [[ $(alive) == 0 ]] && break
    sleep 0.1
  done
  alive
}
start() { # COMMAND...: a judge in the background, $judge
  "${marked[@]}" "$@" </dev/null &
  judge=$!
}
now_us() { # microseconds
  echo "${EPOCHREALTIME/./}"
}

# Kill a command at COUNT moments of its time; $seen: how often it had started something by then, $halves: lines of
# output that are no JSON, $stayed: how often something was left two seconds later (with `settle`, else it is not asked).
kill_at_moments() { # COUNT MICROSECONDS settle|go-on COMMAND...
  local moment
  seen=0 halves=0 stayed=0
  for ((moment = 1; moment <= $1; moment++)); do
    start "${@:4}" >"$top/out" 2>/dev/null
    sleep "$(printf '%d.%06d' $(($2 * moment / $1 / 1000000)) $(($2 * moment / $1 % 1000000)))"
    (($(alive))) && seen=$((seen + 1))
    kill -KILL $judge
    wait $judge
    [[ $3 != settle || $(left) == 0 ]] || stayed=$((stayed + 1))
    halves=$((halves + $(awk '!/^\{.*\}$/' "$top/out" | wc -l)))
  done 2>/dev/null
}

halves_in() { # DATABASE: records that are incomplete or whose source is missing, and whether there are any
  "${perigee:?}" query --db "$1" --json --sql "SELECT count(*) > 0 AS some,
    sum(NOT json_valid(record) OR source_sha NOT IN (SELECT sha FROM sources)) AS halves FROM records"
}
