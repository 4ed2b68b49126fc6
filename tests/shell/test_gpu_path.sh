#!/bin/bash
# The GPU path of everything, from the driver's functions up to the judge's verdicts, over a driver whose GPU is the
# simulator (tests/shim). What only hardware shows is in tests/gpu.
. tests/shell/tap.sh
build=${BUILD:-build}
shim=$build/tests/shim
make -s BUILD="$build" "$shim/libcuda.so.1" "$shim/counting/libcuda.so.1" "$shim/libnvidia-ml.so.1" "$build/tests/gpu/event_loop" "$build/tests/gpu/api_core" "$build/tests/gpu/api_host"

on_shim() { # COMMAND...: its output and status with that driver
  LD_LIBRARY_PATH=$PWD/$shim "$@" 2>&1
  echo "status $?"
}

out=$(on_shim tests/gpu/run device)
check "the device from Lua" "$out" "GPU: simulated GPU*, 0 failed*status 0"
out=$(on_shim tests/gpu/run api)
check "the C API over both libraries" "$out" "*api_core * passed, 0 failed*api_host * passed, 0 failed*status 0"
out=$(on_shim tests/gpu/run verdicts)
check "every candidate gets its verdict" "$out" "* passed, 0 failed*status 0"
out=$(on_shim "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu --device cuda:0 --set n=1000 --budget 0.1)
check "a right candidate is timed by the GPU's clock" "$out" "*passed*time *interval*status 0"
graph=$(LD_LIBRARY_PATH=$PWD/$shim/counting:$PWD/$shim "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu --device cuda:0 --set n=1000 --budget 0.1 --method graph --json)
check "and by graphs, held against a batch" "$graph" '*"method":"graph"*"unseen_us":*"verdict":"passed"*'
check "the simulator was asked, too" "$out" "*and on sim:check, for faults that a GPU does not see*"
out=$(on_shim "$build/perigee" check vector/saxpy tests/cheats/reads_past_the_end.cu --device cuda:0 --set n=1000 --budget 0.1)
check "what is right on a GPU by luck is not right" "$out" "*out_of_bounds*, on sim:check*status 1"
out=$(on_shim "$build/perigee" doctor)
check "doctor names the GPU and its driver" "$out" "*cuda:0*simulated GPU*999.0 (CUDA 13.0)*"
out=$(on_shim tests/gpu/run ceilings)
check "doctor --measure, and what is done with what it found" "$out" "* 0 failed*status 0"
out=$(NCU=none on_shim tests/gpu/run timing)
check "the comparison of clocks runs" "$out" "* 0 failed*status 0"

# A time that the GPU's memory does not allow, whatever it is: this one moves so many GB/s at most.
known() { # GB/S: a check with that ceiling
  mkdir -p "$folder/perigee/ceilings"
  echo "{\"gpu\":\"simulated GPU\",\"copy\":$1}" >"$folder/perigee/ceilings/simulated-gpu.json"
  on_shim env XDG_DATA_HOME="$folder" "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu \
    --device cuda:0 --set n=131072 --budget 0.1
}
folder=$(mktemp -d)
check "a time above 1.05 times the ceiling is no time" "$(known 0.0001)" \
  "*: cheat *impossible: *GB/s, and this GPU moves at most*status 1"
check "one below is" "$(known 1000000)" "*passed*time *status 0"
rm -rf "$folder"

out=$(on_shim "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu --device cuda:1)
check "a GPU that is not there" "$out" "*cuda:1 does not exist: CUDA sees 1 GPU*status 3"
folder=$(mktemp -d)
cat >"$folder/two.lua" <<'END'
return { propose = function(history)
  if #history == 0 then return { {}, { BLOCK = 512, UNROLL = 4 }, { BLOCK = 96, UNROLL = 4 } } end
end }
END
tune=("$build/perigee" tune "$folder/two.lua" tests/tune/scale.lua --device cuda:0 --db "$folder/r.db" --slice 0.05 --final 0.1)
out=$(on_shim "${tune[@]}")
check "tune measures the best side by side" "$out" "*3 evaluations: 2 passed, 1 wrong_result*side by side*1 (default)*status 0"
check "a configuration that is wrong at another size does not win" "$out" "* unwritten_output *BLOCK=512 UNROLL=4*"
check "tune again takes all from the store" "$(on_shim "${tune[@]}" --json)" "status 0"
out=$(on_shim "$build/perigee" repro 1 --db "$folder/r.db")
check "repro compares times" "$out" "*passed, then passed*change *%*status 0"

# An agent's profile on a GPU: this ncu runs what it is given and has counted something.
cat >"$folder/ncu" <<'END'
#!/bin/bash
while [[ $1 == --* ]]; do
  case $1 in --log-file) log=$2; shift 2 ;; --metrics | --clock-control | --cache-control | --target-processes | --print-units) shift 2 ;; *) shift ;; esac
done
"$@" || exit
printf '"ID","Kernel Name","Metric Name","Metric Value"\n"0","saxpy(const float *)","%s","%s"\n' \
  dram__throughput.avg.pct_of_peak_sustained_elapsed 91.5 >"$log"
END
chmod +x "$folder/ncu"
call() { # TOOL DEVICE-OPTIONS
  python3 - "$@" <<'END'
import json, sys
print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}))
print(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": sys.argv[1], "arguments": {
    "task": "vector/saxpy", "set": {"n": 1000}, "source": open("tests/candidates/saxpy/right.cu").read()}}}))
END
}
serve() { # TOOL: the answer
  coproc server { LD_LIBRARY_PATH=$PWD/$shim exec "$build/perigee" serve --device cuda:0 --db "$folder/serve.db"; }
  local to=${server[1]} pid=$!
  call "$1" >&"$to"
  read -r _ <&"${server[0]}"
  read -t 60 -r out <&"${server[0]}"
  exec {to}>&-
  wait $pid
  echo "$out"
}
check "serve: check on a GPU" "$(serve check)" '*"device":"cuda:0"*"verdict":"passed"*'
check "serve: time beside naive" "$(serve time)" '*"name":"naive","speedup":*"time":{"ci95_us":*"unit":"us"*'
check "serve: counters of the hardware" "$(NCU=$folder/ncu serve profile)" \
  '*"hardware":\[{"name":"saxpy: of the memory*s throughput","suggests":"memory is the limit*","value":"91.5%"}\]*'
check "serve: two servers on one GPU take turns" "$(serve time >"$folder/one" & serve time; wait; cat "$folder/one")" \
  '*"verdict":"passed"*"verdict":"passed"*'
check "serve: why there are none" "$(NCU=none serve profile)" '*"no_hardware":"no ncu on this machine"*'
rm -rf "$folder"
finish
