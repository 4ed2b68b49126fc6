#!/bin/bash
# A judge that dies at any moment leaves no worker behind; two judges share one cache; a cache that cannot be written
# costs time only.
. tests/shell/tap.sh
perigee=$(realpath "${BUILD:-build}/perigee")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export PATH=$PATH:$top # workers start with PATH, so theirs tells them from those of other tests
export XDG_CACHE_HOME=$top/cache
unset PERIGEE_CACHE

cat >"$top/endless.cu" <<'END'
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  for (volatile float* p = z;;) p[0];
}
END

workers() { # how many there are, of the tests in this file
  local file count=0
  while read -r file; do
    grep -qa '^perigee.--worker' "${file%environ}cmdline" 2>/dev/null && count=$((count + 1))
  done < <(grep -la "PATH=.*$top" /proc/[0-9]*/environ 2>/dev/null)
  echo $count
}
left() { # workers after at most two seconds in which they may end
  for _ in {1..20}; do
    [[ $(workers) == 0 ]] && break
    sleep 0.1
  done
  workers
}
start() { # ARGUMENTS: a judge in the background, $judge
  "$perigee" "$@" >/dev/null 2>&1 </dev/null &
  judge=$!
}

# ---- killed at any moment ----

start=${EPOCHREALTIME/./}
"$perigee" run vector/saxpy --device sim:check >/dev/null
whole=$((${EPOCHREALTIME/./} - start)) # microseconds, a cold compiler included
seen=0
for moment in {1..20}; do
  start run vector/saxpy --device sim:check
  sleep "$(printf '0.%06d' $((whole * moment / 21 % 1000000)))"
  [[ $(</proc/$judge/task/$judge/children) ]] && seen=$((seen + 1))
  kill -KILL $judge
  wait $judge
done 2>/dev/null
check "a judge killed at 20 moments leaves no worker" "$(left)" 0
check "though it had some" "$((seen > 0))" 1

for signal in KILL INT TERM HUP; do
  # An interactive shell does not ignore SIGINT for it, as a script does for what it puts into the background.
  env --default-signal=INT "$perigee" check vector/saxpy "$top/endless.cu" --device sim >/dev/null 2>&1 </dev/null &
  judge=$!
  for _ in {1..100}; do
    [[ $(workers) == 0 ]] || break
    sleep 0.05
  done
  sleep 0.3
  check "a kernel that never ends runs in a worker" "$(workers)" "[1-9]*"
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
