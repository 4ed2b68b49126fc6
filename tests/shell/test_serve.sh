#!/bin/bash
# perigee serve as a program: the messages of each era, what is on standard output, how it starts and how it ends.
# shellcheck disable=SC1003,SC2317  # a backslash is meant; functions are called by their names
. tests/shell/tap.sh
perigee=$(realpath "${BUILD:-build}/perigee")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export TMPDIR=$top
serve=(env "PATH=$PATH:$top" "$perigee" serve --device sim:check --db "$top/db")

alive() { # processes of servers of this file
  grep -la "PATH=.*$top" /proc/[0-9]*/environ 2>/dev/null | wc -l
}
none_left() {
  for _ in {1..20}; do
    [[ $(alive) == 0 ]] && break
    sleep 0.1
  done
  alive
}

# A transcript: `> ` sends a line, `< ` is the answer, where <*> stands for anything.
play() { # FILE
  local line answer
  coproc server { "${serve[@]}" 2>"$top/err"; }
  pid=$!
  while IFS= read -r line; do
    case $line in
      '> '*) printf '%s\n' "${line#> }" >&"${server[1]}" ;;
      '< '*)
        IFS= read -t 20 -r answer <&"${server[0]}" || answer="no answer"
        line=${line#< }
        line=${line//'\'/'\\'}
        line=${line//'['/'\['}
        line=${line//'<*>'/'*'}
        check "${1##*/}: $(head -c 60 <<<"$answer")" "$answer" "$line"
        ;;
    esac
  done <"$1"
  to=${server[1]}
  exec {to}>&-
  wait "$pid"
  check "${1##*/}: it ends with the input" "$? $(cat "$top/err")" "0 "
}
for file in tests/serve/*.txt; do play "$file"; done

hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
check "no input, no output" "$("${serve[@]}" </dev/null; echo "status $?")" "status 0"
check "a last line without an end is answered" "$(printf %s '{"jsonrpc":"2.0","id":1,"method":"ping"}' | "${serve[@]}")" \
  '{"id":1,"jsonrpc":"2.0","result":{}}'
once() { "${serve[@]}" <<<"$hello" >/dev/null; }
check "it starts and answers in under 100 ms" "$(takes_less 100000 once)" yes
check "and opens no store and no folder" "$(find "$top" -name 'db*' -o -name 'perigee-*')" ""
check "bad usage" "$("${serve[@]}" --limit 0 2>&1; echo "status $?")" "*--limit*status 2"

# What tasks print is no message.
mkdir -p "$top/tasks"
sed 's/^return/print("noise") os.execute("echo more noise") return/; s|vector/saxpy|noisy/saxpy|' tasks/vector/saxpy.lua >"$top/tasks/noisy.lua"
coproc server { PERIGEE_TASKS=$top/tasks "${serve[@]}" --share 2>"$top/err"; }
pid=$!
printf '%s\n' "$hello" '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_tasks","arguments":{"text":"noisy"}}}' >&"${server[1]}"
read -r _ <&"${server[0]}"
read -t 20 -r answer <&"${server[0]}"
check "standard output has messages alone" "$answer" '{"id":2,*noisy/saxpy*'
sed 's|noisy/saxpy|noisy/later|' "$top/tasks/noisy.lua" >"$top/tasks/later.lua"
printf '%s\n' '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"list_tasks","arguments":{"text":"noisy"}}}' >&"${server[1]}"
read -t 20 -r answer <&"${server[0]}"
check "a task that is written meanwhile is there" "$answer" '{"id":3,*noisy/later*noisy/saxpy*"total":2*'

# A task that shows no source: not on request, and not as an attempt at which it was run.
sed 's|name = "vector/saxpy"|name = "closed/saxpy", closed = true|' tasks/vector/saxpy.lua >"$top/tasks/closed.lua"
PERIGEE_TASKS=$top/tasks "$perigee" run closed/saxpy --device sim --db "$top/db" >/dev/null
told() { # ID TOOL ARGUMENTS: what the tool answers
  printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$@" >&"${server[1]}"
  read -t 20 -r answer <&"${server[0]}"
  echo "$answer"
}
check "a closed task shows no source" "$(told 4 describe_task '{"task":"closed/saxpy","reference":"naive"}')" '*does not show the sources*"isError":true*'
check "but its contract" "$(told 5 describe_task '{"task":"closed/saxpy"}')" '*void saxpy(*'
check "not as an attempt either" "$(told 6 diff '{"a":1,"b":1}')" '*is no attempt, but the task*"isError":true*'
# What the check found is in the answer that has the cost, too.
cat >"$top/tasks/sorted.lua" <<'END'
local pg = require "perigee"
local source = [[extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = i > 0 && x[i] <= x[i - 1] ? -1.f : 2.f * x[i];
}]]
return pg.task { name = "sorted/twice", params = { n = { default = 64, check = { 5, 60 } } },
  kernel = "void twice(const float* x, float* y, int n)", launch = { grid = 1, block = 64 },
  inputs = function(p, rng)
    local x = rng:array("f32", p.n)
    for i = 0, p.n - 1 do x[i] = i + 0.5 * x[i] end
    return { x = x }
  end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  reference = function(_, io) return { y = 2 * io.x } end, validate = "close",
  impls = { naive = { "cuda", source = source } } }
END
check "a note of the check stays with the cost" "$(told 7 time '{"task":"sorted/twice","source":"extern \"C\" __global__ void twice(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = i > 0 \u0026\u0026 x[i] <= x[i - 1] ? -1.f : 2.f * x[i]; }"}')" \
  '*"findings":*values left out*"verdict":"passed"*'
check "noise goes to standard error" "$(tr '\n' ' ' <"$top/err")" "*noise*more noise*"
to=${server[1]}
exec {to}>&-
wait $pid

# A client that is killed in the middle of a call.
call() { # NAME: of a candidate
  python3 - "$1" <<'END'
import json, sys
name = sys.argv[1] + ".cu"
print(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "check", "arguments": {
    "task": "vector/saxpy", "source": open(name if name[0] == "/" else "tests/candidates/saxpy/" + name).read()}}}))
END
}
busy() { # in the background: a server, $pid, whose candidate hangs
  mkfifo "$top/in" "$top/out"
  "${serve[@]}" <"$top/in" >"$top/out" 2>/dev/null &
  pid=$!
  exec {to}>"$top/in" {from}<"$top/out"
  rm "$top/in" "$top/out"
  printf '%s\n' "$hello" "$(call forever)" >&"$to"
  read -r _ <&"$from"
  for _ in {1..50}; do
    (($(alive) > 3)) && break
    sleep 0.1
  done
  sleep 0.3
}
busy
check "a candidate runs" "$(($(alive) >= 3))" 1
exec {to}>&- {from}<&-
wait $pid
check "a client that vanishes ends the server" $? 0
check "and all that it ran" "$(none_left)" 0
check "and its folder" "$(find "$top" -name 'perigee-*')" ""
busy
exec {to}>&-
start=${EPOCHREALTIME/./}
wait $pid
check "the end of input ends it within two seconds" "$(((${EPOCHREALTIME/./} - start) < 2000000))" 1
check "with its candidate" "$(none_left)" 0
exec {from}<&-
for signal in TERM KILL; do
  busy
  kill -$signal $pid
  wait $pid 2>/dev/null
  check "SIG$signal ends it with its candidate" "$(none_left)" 0
  exec {to}>&- {from}<&-
done 2>/dev/null

# Servers, one store, all at once: nothing is lost.
cat >"$top/many.py" <<'END'
import json, subprocess, sys
source = open("tests/candidates/saxpy/right.cu").read()
servers = [subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(3)]
for server in servers:
    lines = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}]
    lines += [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "check", "arguments": {
        "task": "vector/saxpy", "source": source}}} for i in range(1, 4)]
    server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    server.stdin.flush()
numbers = []
for server in servers:
    for line in [server.stdout.readline() for _ in range(4)][1:]:
        numbers.append(json.loads(line)["result"]["structuredContent"]["attempt"])
    server.stdin.close()
    server.wait(10)
print(*sorted(numbers))
END
rm -f "$top"/db*
check "three servers write one store" "$(python3 "$top/many.py" "${serve[@]}")" "1 2 3 4 5 6 7 8 9"

# Servers take turns on a GPU, here one that the simulator stands for.
shim=${BUILD:-build}/tests/shim
make -s BUILD="${BUILD:-build}" "$shim/counting/libcuda.so.1" "$shim/libnvidia-ml.so.1"
mkdir -p "$top/cache/locks"
exec {lock}>"$top/cache/locks/cuda-0-all"
flock -x "$lock"
coproc server { exec {lock}>&-; env -u CUDA_VISIBLE_DEVICES PERIGEE_CACHE="$top/cache" LD_LIBRARY_PATH="$PWD/$shim/counting:$PWD/$shim" "$perigee" serve --device cuda:0 --db "$top/turn" 2>"$top/err"; }
pid=$!
printf '%s\n' "$hello" "$(call right | sed 's/"arguments": {/"_meta": {"progressToken": 1}, &"set": {"n": 1000}, /')" >&"${server[1]}"
read -t 20 -r _ <&"${server[0]}"
read -t 20 -r answer <&"${server[0]}"
check "while another judges on the GPU, a call waits and says so" "$answer" '*"message":"waiting for cuda:0, on which another agent is judged"*'
exec {lock}>&-
while read -t 60 -r answer <&"${server[0]}" && [[ $answer == *notifications/progress* ]]; do :; done
check "then it is judged" "$answer" '*"device":"cuda:0"*"verdict":"passed"*'
to=${server[1]}
exec {to}>&-
wait "$pid"

# A disk that is full. The answer is read before the input ends: that would end the call, too.
verdict_of() { # COMMAND...: a server; what it answers about $source
  coproc server { "$@" 2>"$top/err"; }
  pid=$!
  printf '%s\n' "$hello" "$(call "$source")" >&"${server[1]}"
  read -t 60 -r _ <&"${server[0]}"
  read -t 60 -r answer <&"${server[0]}"
  to=${server[1]}
  exec {to}>&-
  wait "$pid"
  echo "$answer"
}
source=right
mkdir "$top/full"
if unshare -rm bash -c 'mount -t tmpfs tmpfs /mnt' 2>/dev/null; then
  # shellcheck disable=SC2016
  check "a full disk is said, the verdict is there" "$(verdict_of unshare -rm bash -c 'mount -t tmpfs -o size=64k tmpfs "$0" &&
    dd if=/dev/zero of="$0/fill" 2>/dev/null; exec "$@"' "$top/full" "$perigee" serve --device sim:check --db "$top/full/db")" \
    '*"verdict":"passed","warning":"not recorded*'
else
  skip "a full disk is said, the verdict is there" "no file system can be mounted here"
fi

# Files that may not grow: a source of 0.9 MB goes into one, a store that holds it does not.
{
  cat tests/candidates/saxpy/right.cu
  printf '//%0900000d' 0
} | head -c 900000 >"$top/large.cu"
source=$top/large
rm -f "$top"/db*
# shellcheck disable=SC2016
limited=(env PERIGEE_CACHE=off bash -c 'ulimit -f 900 && exec "$@"' limited "$perigee")
check "a limit of file sizes, too" "$(verdict_of "${limited[@]}" serve --device sim:check --db "$top/db")" \
  '*"verdict":"passed","warning":"not recorded*'
for i in {1..9}; do printf '{"task":"t","verdict":"timeout","seed":%d,"reason":"%0200000d"}\n' "$i" 0; done >"$top/many.jsonl"
check "and an import is undone" "$("${limited[@]}" query told --db "$top/limited" --import "$top/many.jsonl" 2>&1
  echo "status $?, $("$perigee" query --sql "select count(*) as n from sessions" --db "$top/limited")")" "*SQLite*status 3, n*0"

# What a server leaves that was killed is removed by a later one, as long as nobody is alive to want it.
rm -rf "$top"/perigee-run-*
busy
{
  kill -KILL $pid
  wait $pid
} 2>/dev/null
exec {to}>&- {from}<&-
left=("$top"/perigee-run-*)
check "a killed server leaves a folder" "${#left[@]}" 1
touch -d '1 hour ago' "${left[0]}"
busy
check "which the next removes" "$(compgen -G "${left[0]}")" ""
living=("$top"/perigee-run-*)
touch -d '1 hour ago' "${living[0]}"
source=right
check "but not one" "$(verdict_of "${serve[@]}")" '*"verdict":"passed"*'
check "of a server that lives" "$(compgen -G "${living[0]}")" "${living[0]}"
exec {to}>&- {from}<&-
wait $pid
check "which removes it itself" "$(compgen -G "${living[0]}")" ""
finish
