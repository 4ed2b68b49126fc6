#!/bin/bash
# The command itself: its version, where it finds its files, how it ends.
. tests/shell/tap.sh
perigee=$(realpath "${BUILD:-build}/perigee")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

run() { # COMMAND...: its output and its status
  "$@" 2>&1 </dev/null
  echo "status $?"
}
script() { # TEXT: the name of a file that holds it
  echo "$1" >"$top/script.lua"
  echo "$top/script.lua"
}

check "version" "$(run "$perigee" --version)" "perigee [0-9]*.[0-9]*.[0-9]* (Lua 5.4.[0-9])*status 0"
check "version takes under 10 ms" "$(takes_less 10000 "$perigee" --version)" yes

cp "$perigee" "$top/perigee"
check "without its files it says what to set" "$(run env -u PERIGEE_HOME "$top/perigee" list)" \
  "perigee: no folder with lua/perigee beside or above $top*  set PERIGEE_HOME*status 3"
check "a wrong PERIGEE_HOME is named" "$(run env PERIGEE_HOME=/nowhere "$perigee" list)" \
  "perigee: PERIGEE_HOME is '/nowhere', which holds no lua/perigee*status 3"
mkdir "$top/odd?name" && ln -s "$PWD/lua" "$top/odd?name/lua"
check "a path that Lua cannot search is refused" "$(run env PERIGEE_HOME="$top/odd?name" "$perigee" list)" \
  "perigee: the path*contains ';' or '?'*status 3"

core='local core = require "perigee.core"'
check "an error is message, place and hint, without a traceback" \
  "$(run "$perigee" "$(script "$core core.error('range', 'too large', 'take less')")")" \
  "perigee: too large ($top/script.lua:1)
  take less
status 2"
check "what the machine lacks is status 3" \
  "$(run "$perigee" "$(script "$core core.error('environment', 'no GPU')")")" "perigee: no GPU*status 3"
check "what a script raises has its place" "$(run "$perigee" "$(script "local t = nil; return t.x")")" \
  "perigee: attempt to index a nil value*script.lua:1)*status 2"
mkdir -p "$top/broken/lua/perigee"
echo 'return { main = function() local t = nil; return t.x end }' >"$top/broken/lua/perigee/cli.lua"
check "a defect of perigee's own has a traceback" "$(run env PERIGEE_HOME="$top/broken" "$perigee" list)" \
  "perigee: *cli.lua:1: attempt to index a nil value*stack traceback:*status 2"
check "an error that fails while it is shown" \
  "$(run "$perigee" "$(script "error(setmetatable({}, { __tostring = error }))")")" "perigee: *status 2"
check "runaway recursion" "$(run "$perigee" "$(script 'local function f() return 1 + f() end f()')")" \
  "perigee: *stack overflow*status 2"

many='for i = 1, 1e6 do print(i) end'
"$perigee" "$(script "$many")" 2>"$top/errors" | head -n 1 >"$top/head"
check "a closed pipe ends it" "${PIPESTATUS[0]}" 141
check "quietly" "$(cat "$top/head" "$top/errors")" 1
(trap '' PIPE; "$perigee" "$(script "$many")" 2>&1 | head -n 1 >/dev/null; exit "${PIPESTATUS[0]}")
check "even where the signal was ignored" $? 141
check "a full disk is an error" "$("$perigee" "$(script 'print(1)')" 2>&1 >/dev/full; echo "status $?")" \
  "perigee: cannot write the output: No space left on device*status 2"
check "also when it was full before the end" \
  "$("$perigee" "$(script 'print(1) io.open("/nowhere")')" 2>&1 >/dev/full; echo "status $?")" \
  "perigee: cannot write the output: No space left on device*status 2"
# The first thing opened would become descriptor 1, were it free: here the socket to the worker.
worker_speaks="$core
local file = io.open('$top/reply', 'w')
local w = core.worker('runner')
io.write(('x'):rep(1 << 16)) io.flush()
file:write(w:call('{\"op\":\"none\"}', 10) or 'no reply') file:close() io.write('x')"
for closed in '>&-' '<&- >&-' '2>&-' '<&- >&- 2>&-'; do
  rm -f "$top/reply"
  eval "'$perigee' '$(script "$worker_speaks")' $closed" >/dev/null 2>&1
  check "a worker hears nothing of what is printed with $closed" "$(cat "$top/reply")" '*a runner has no request*'
done
check "a closed standard output is an error" "$({ "$perigee" "$(script 'print(1)')" >&-; } 2>&1; echo "status $?")" \
  "perigee: cannot write the output: Bad file descriptor*status 2"
check "how a worker died is known where SIGCHLD was ignored" \
  "$(run env --ignore-signal=CHLD "$perigee" "$(script "$core
local w = core.worker('runner')
os.execute('kill -9 ' .. w:pid())
print(select(2, w:call('{}', 10)).message)")")" "*was killed by signal 9 (SIGKILL, Killed)*status 0"
(ulimit -v 400000; "$perigee" --version) >/dev/null 2>&1 && # not with AddressSanitizer
  check "out of memory is status 3" \
  "$(ulimit -v 400000; run "$perigee" "$(script 'local t = {} for i = 1, 1e9 do t[i] = tostring(i) end')")" \
  "perigee: *memory*status 3"
# A container of 400 MiB, of which 50 MiB are anonymous and 50 MiB shared memory.
# shellcheck disable=SC2016
container=(unshare -rm bash -c 'mount -t tmpfs tmpfs /sys/fs/cgroup && echo $((400 << 20)) >/sys/fs/cgroup/memory.max &&
  printf "anon %d\nfile 1\nshmem %d\n" $((50 << 20)) $((50 << 20)) >/sys/fs/cgroup/memory.stat && exec "$@"' bash)
if "${container[@]}" true 2>/dev/null; then
  check "memory beyond a container's limit is refused, not taken" \
    "$(run "${container[@]}" "$perigee" "$(script "$core
local w = core.worker('runner')
for _, mib in ipairs { 290, 310 } do
  print(mib, (pcall(core.array, 'u8', mib << 20)), (pcall(w.share, w, mib << 20)))
end")")" "290*true*true*310*false*false*status 0"
fi
check "a script sees its arguments" "$(run "$perigee" "$(script 'print(arg[1], arg[2], #arg)')" a "b c")" \
  "a*b c*2*status 0"
finish
