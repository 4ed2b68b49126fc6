#!/bin/bash
# A judge that dies at any moment leaves no worker behind; two judges share one cache; a cache that cannot be written
# costs time only.
. tests/shell/tap.sh
perigee=$(realpath "${BUILD:-build}/perigee")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
# What a judge starts has its PATH, so theirs tells it from the processes of other tests. An interactive shell does not
# ignore SIGINT for a judge, as a script does for what it puts into the background.
marked=(env --default-signal=INT "PATH=$PATH:$top")
export XDG_CACHE_HOME=$top/cache
unset PERIGEE_CACHE

cat >"$top/endless.cu" <<'END'
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  for (volatile float* p = z;;) p[0];
}
END

# A compiler that never ends, with children that do not either.
cat >"$top/python" <<'END'
#!/bin/bash
case $1 in -c) printf '3.0.0\n%s\n' "${0%/*}" && exit ;; esac
sleep 1000 &
sleep 1000
END
chmod +x "$top/python"
touch "$top/endless.py"

alive() { # how many processes of the judges in this file there are, but for the judges
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
judge=0
start() { # COMMAND...: a judge in the background, $judge
  "${marked[@]}" "$@" </dev/null &
  judge=$!
}

# ---- killed at any moment ----

# Kill a command at COUNT moments of its time; $seen: how often it had started something by then, $halves: lines of
# output that are no JSON.
kill_at_moments() { # COUNT MICROSECONDS COMMAND...
  local moment
  seen=0 halves=0
  for ((moment = 1; moment <= $1; moment++)); do
    start "${@:3}" >"$top/out" 2>/dev/null
    sleep "$(printf '%d.%06d' $(($2 * moment / $1 / 1000000)) $(($2 * moment / $1 % 1000000)))"
    (($(alive))) && seen=$((seen + 1))
    kill -KILL $judge
    wait $judge
    halves=$((halves + $(awk '!/^\{.*\}$/' "$top/out" | wc -l)))
  done 2>/dev/null
}

saxpy=("$perigee" run vector/saxpy --device sim:check --json --db "$top/db")
start=${EPOCHREALTIME/./}
"${saxpy[@]}" >/dev/null
whole=$((${EPOCHREALTIME/./} - start)) # microseconds, a cold compiler included
kill_at_moments 50 $((whole + 100000)) "${saxpy[@]}"
check "a judge killed at 50 moments leaves no worker" "$(left)" 0
check "though it had some" "$((seen > 0))" 1
check "and no half record in its output" "$halves" 0
check "nor in its store" "$("$perigee" query --db "$top/db" --json --sql "SELECT count(*) > 0 AS some,
  sum(NOT json_valid(record) OR source_sha NOT IN (SELECT sha FROM sources)) AS halves FROM records")" \
  '{"halves":0,"some":1}'

export PERIGEE_PYTHON=$top/python
kill_at_moments 10 500000 "$perigee" check vector/saxpy "$top/endless.py" --device sim --json
check "nor one that compiles by a program what that has started" "$(left)" 0
check "though it had" "$((seen > 0))" 1
unset PERIGEE_PYTHON

for signal in KILL INT TERM HUP; do
  start "$perigee" check vector/saxpy "$top/endless.cu" --device sim >/dev/null 2>&1
  for _ in {1..100}; do
    [[ $(alive) == 0 ]] || break
    sleep 0.05
  done
  sleep 0.3
  check "a kernel that never ends runs in a worker" "$(alive)" "[1-9]*"
  kill -$signal $judge
  wait $judge 2>/dev/null
  status=$?
  check "SIG$signal ends the judge" $status "$((128 + $(kill -l $signal)))"
  check "and its workers" "$(left)" 0
done

# ---- caches ----

rm -rf "$XDG_CACHE_HOME"
"$perigee" run vector/saxpy --device sim:check >"$top/one" &
"$perigee" run vector/saxpy --device sim:check >"$top/two"
check "two judges fill one cache at a time: the second" $? 0
wait $!
check "and the first" $? 0
check "no part of an entry is left" "$(find "$XDG_CACHE_HOME" -name 'new.*' | wc -l)" 0

passes() { # NAME COMMAND...: a run of saxpy passes in an environment
  check "$1" "$("${@:2}" "$perigee" run vector/saxpy --device sim:check 2>&1; echo "status $?")" "*naive *passed*status 0"
}
passes "without HOME" env -u HOME -u XDG_CACHE_HOME
touch "$top/file"
passes "where a file is in the way of the cache" env XDG_CACHE_HOME="$top/file"
# shellcheck disable=SC2016
mounted=(unshare -rm bash -c 'mount -t tmpfs -o "$0" tmpfs "$XDG_CACHE_HOME" && exec "$@"')
mkdir -p "$XDG_CACHE_HOME"
if "${mounted[@]}" ro true 2>/dev/null; then
  passes "with a cache that is read-only" "${mounted[@]}" ro
  passes "with a cache on a full disk" "${mounted[@]}" size=8k
fi
finish
