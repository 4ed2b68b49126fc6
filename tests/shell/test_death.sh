#!/bin/bash
# A judge that dies at any moment leaves no worker behind; two judges share one cache; a cache that cannot be written
# costs time only.
. tests/shell/tap.sh
perigee=$(realpath "${BUILD:-build}/perigee")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
. tests/gpu/killing.sh
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

# ---- killed at any moment ----

saxpy=("$perigee" run vector/saxpy --device sim:check --json --db "$top/db")
since=$(now_us)
"${saxpy[@]}" >/dev/null
whole=$(($(now_us) - since)) # microseconds, a cold compiler included
kill_at_moments 50 $((whole + 100000)) go-on "${saxpy[@]}"
check "a judge killed at 50 moments leaves no worker" "$(left)" 0
check "though it had some" "$((seen > 0))" 1
check "and no half record in its output" "$halves" 0
check "nor in its store" "$(halves_in "$top/db")" '{"halves":0,"some":1}'

export PERIGEE_PYTHON=$top/python
kill_at_moments 10 500000 go-on "$perigee" check vector/saxpy "$top/endless.py" --device sim --json
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
