#!/bin/bash
# Experts: host code of a task in a trusted runner, over a driver whose GPU is the simulator (tests/shim). The library
# that they call is that driver, so what they enqueue runs; NVIDIA's own libraries are for tests/gpu.
. tests/shell/tap.sh
. tests/shell/shim.sh
make -s BUILD="$build" "$build/tests/experts/libraries.so"
folder=$(mktemp -d)
tasks=tests/experts/tasks.lua
python=${PERIGEE_PYTHON:-python3} # which may have PyTorch

perigee() { on_shim "$build/perigee" "$@"; }

# The experts of the tasks, over libraries that compute by definition: who calls them with the wrong rows or columns fails.
expert() { # TASK NAME=VALUE...: what the task's expert gets at this size
  LD_LIBRARY_PATH=$PWD/$shim:$PWD/$build/tests/experts "$build/perigee" run "$1" --impl expert --device cuda:0 --budget 0.02 \
    --json "${@:2}" 2>&1
}
while read -r task library sizes; do
  # shellcheck disable=SC2086 # several options
  check "$task by $library" "$(expert "$task" $sizes)" "*\"library\":\"$library\"*\"verdict\":\"passed\"*"
done <<END
matmul/f32 cuBLAS --set m=13 --set n=7 --set k=5
matmul/f16 cuBLASLt --set m=13 --set n=7 --set k=5
fft/c2c cuFFT --set log2n=5 --set batch=3
linalg/cholesky cuSOLVER --set n=45
linalg/solve cuSOLVER --set n=20 --set m=3
sparse/spmv cuSPARSE --cell power --set rows=100
conv/conv2d cuDNN --set images=2 --set inputs=3 --set outputs=4 --set height=5 --set width=7
norm/softmax cuDNN --set rows=3 --set columns=33
END

out=$(perigee run "$tasks" --impl naive,expert --device cuda:0 --budget 0.05 --json)
check "an expert passes and is timed by the same clock" "$out" '*"impl":"expert"*"time":{*"median_us":*status 0'
check "the record says who it was" "$out" '*"lang":"lua","library":{"library":"driver","prepare_ms":*,"version":"13000"}*"trusted":true*'
check "it was compared with the plain kernel" "$out" '*"speedup":{"naive":*'
out=$(perigee run "$tasks" --device cuda:0 --budget 0.05)
check "an element left out" "$out" "*short *unwritten_output*1 of 1000 elements never written*"
check "a write past the end" "$out" "*beyond *out_of_bounds*y ends at 4000 bytes*"
check "a changed input" "$out" "*input *input_modified*changed its input x*"
check "a mistake in the file has its place" "$out" "*broken *launch_error*tests/experts/broken.lua:3: attempt to perform arithmetic*"
check "a library that fails when it is called" "$out" "*late *launch_error*libraryCall: status 7 (invalid value)*"
check "a missing library is passed over" "$out" "*not run: missing: this machine has no libperigee_has_no_such_library (it comes with*status 1"
out=$(perigee run "$tasks" --impl missing --device cuda:0)
check "but not when it is asked for by name" "$out" "*missing *environment*status 3"
out=$(perigee run "$tasks" --impl naive,expert --device sim)
check "a simulator has no libraries" "$out" "*expert *environment*an expert calls a library on a GPU*status 3"
check "a run on the simulator goes without" "$(perigee run matmul/f32 --device sim --set m=8 --set n=8 --set k=8)" \
  "*naive *passed*not run: expert: an expert calls*status 0"

# PyTorch: the interpreter is real, the package a stand-in that notes how it was used.
standin=$PWD/tests/experts/standin
printf '#!/bin/bash\nPYTHONPATH=%q exec python3 -B "$@"\n' "$standin" >"$folder/python"
chmod +x "$folder/python"
export PERIGEE_PYTHON=$folder/python
export PYTHONDONTWRITEBYTECODE=1
out=$(perigee run "$tasks" --impl naive,torch,torch-compile,torch-overhead,torch-graph --device cuda:0 --budget 0.05 --json)
lacking=
[[ $out == *"apt-get install libpython3-dev"* ]] && lacking="this Python has no shared library"
check_torch() { # as check, where the interpreter can be embedded
  if [[ $lacking ]]; then skip "$1" "$lacking"; else check "$@"; fi
}
for mode in torch torch-compile torch-overhead torch-graph; do
  check_torch "$mode" "$(grep "\"impl\":\"$mode\"" <<<"$out")" '*"library":{"library":"PyTorch","note":"*: return a * x","prepare_ms":*,"version":"stand-in"}*"verdict":"passed"*'
done
check "it runs on the runner's stream, in each of its modes, and sees unsigned numbers as signed ones" \
  "$(LD_LIBRARY_PATH=$PWD/$shim PYTHONPATH=$standin python3 tests/experts/modes.py lua/perigee/lib/torch_arm.py 2>&1)" \
  "eager: emptied, stream, type 0/32; compile: *, reset, compiled default; overhead: *, reset, step, compiled reduce-overhead; graph: *, replay"

# What tasks say in PyTorch's words, where there is a PyTorch: on the CPU, judged as on a GPU.
out=$(PERIGEE_PYTHON=$python "$build/perigee" tests/experts/lines.lua 2>&1)
case $out in
  *"# SKIP no PyTorch"* | *"libpython3"*) skip "lines for PyTorch" "no PyTorch here" ;;
  *) check "lines for PyTorch" "$out" "* passed, 0 failed" ;;
esac

# All of them as a table, whose rows a second run has from the file of the first: it needs no GPU.
mkdir -p "$folder/data/perigee/ceilings"
echo '{"gpu": "simulated GPU", "copy": 1000, "read": 1000, "f32": 1000}' >"$folder/data/perigee/ceilings/simulated-gpu.json"
export XDG_DATA_HOME=$folder/data
out=$(perigee tasks/table.lua --experts --device cuda:0 --budget 0.02 --torch torch,torch-graph --json "$folder/rows" "$tasks")
check_torch "a table: times" "$out" \
  "*| time | naive | ours, best | time | library |*| \`test/scale\` | *s | naive | *s | driver 13000 | *s | *x | *s | - | - | *s |*status 0"
check "shares of the limit, which has a name" "$out" "*| \`test/scale\` | memory bandwidth | 0.0 % | 0.0 % | 0.0 % |*"
check "errors, and what they are of" "$out" "*| \`test/scale\` | y | ?.?e-8 | ?.?e-8 | ?.?e-8 |*"
titles() { grep -E '^\| (time|share of the limit|error) \|'; }
check "tasks/README.md has these columns" "$(titles <tasks/README.md)" "$(titles <<<"$out")"
check "and what was not measured, with the reason" "$out" \
  "*- \`test/scale\`, missing: environment: this machine has no libperigee_has_no_such_library*"
echo '7' >>"$folder/rows"
echo '{"task": "test/scale", "arms": [7]}' >>"$folder/rows" # lines that are no rows are passed over
again=$("$build/perigee" tasks/table.lua --experts --torch torch --json "$folder/rows" --resume "$tasks" 2>&1)
check "a row that was kept is not measured again" "$(grep '^|' <<<"$again")" "$(grep '^|' <<<"$out")"

printf '#!/bin/bash\nexec python3 -I "$@"\n' >"$folder/python"
check_torch "no PyTorch" "$(perigee run "$tasks" --impl torch --device cuda:0)" "*torch *environment*has no PyTorch: No module named 'torch'*status 3"
export PERIGEE_PYTHON=$folder/nothing
check "no Python" "$(perigee run "$tasks" --impl torch --device cuda:0)" "*torch *environment*no Python*does not run*status 3"

# A record is data: whoever writes host code into one does not get it run.
perigee run "$tasks" --impl expert --device cuda:0 --budget 0.05 --json --full | head -n 1 >"$folder/record.jsonl"
python3 - "$folder" <<'END'
import hashlib, json, sys
path = sys.argv[1] + "/record.jsonl"
record = json.load(open(path))
text = 'io.open("%s/ran", "w"):close()' % sys.argv[1]
sha = hashlib.sha256(text.encode()).hexdigest()
record["sources"][0]["sha"], record["source_texts"] = sha, {sha: text}
json.dump(record, open(path, "w"))
END
out=$(perigee repro "$folder/record.jsonl")
check "the task's own file is run in its place" "$out" "*passed, then passed*the expert's file has changed since; the present one was run*status 0"
check "and not the record's" "$(ls "$folder/ran" 2>&1)" "*No such file*"

cp tests/experts/driver.lua "$folder/mine.lua"
check "a candidate is no expert" "$(perigee check "$tasks" "$folder/mine.lua")" "*is no device code: host code in Lua is for experts*status 2"
cat >"$folder/check.lua" <<'END'
local pg = require "perigee"
local ok, e = pcall(pg.check, pg.catalogue.find("tests/experts/tasks.lua")[1], { source = "return 1", lang = "lua" })
print(ok, e.message)
END
check "nor one in a script" "$(perigee "$folder/check.lua")" "false*host code in Lua is for experts*status 0"
echo 'return { file = "mine.lua", lang = "lua" }' >"$folder/plan.lua"
check "nor is one with a plan" "$(perigee check "$tasks" "$folder" --device cuda:0)" "*compile_error*host code in Lua is for experts*status 1"
rm -rf "$folder"
finish
