#!/bin/bash
# What works with the judge over a GPU, here a simulated one (tests/shim): tune, repro, and a server of tools.
. tests/shell/tap.sh
. tests/shell/shim.sh

folder=$(mktemp -d)
cat >"$folder/two.lua" <<'END'
return { propose = function(history)
  if #history == 0 then return { {}, { BLOCK = 512, UNROLL = 4 }, { BLOCK = 96, UNROLL = 4 } } end
end }
END
tune=("$build/perigee" tune "$folder/two.lua" tests/tune/scale.lua --device cuda:0 --db "$folder/r.db" --slice 0.05 --final 0.1)
out=$(on_counting "${tune[@]}")
check "tune measures the best side by side" "$out" "*3 evaluations: 2 passed, 1 wrong_result*side by side*1 (default)*status 0"
check "a configuration that is wrong at another size does not win" "$out" "* unwritten_output *BLOCK=512 UNROLL=4*"
check "tune again takes all from the store" "$(on_counting "${tune[@]}" --json)" "status 0"
out=$(on_counting "$build/perigee" repro 1 --db "$folder/r.db")
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
call() { # TOOL [CANDIDATE]: the lines of a client that calls it once
  python3 - "$@" <<'END'
import json, sys
print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}))
print(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": sys.argv[1], "arguments": {
    "task": "vector/saxpy", "set": {"n": 1000}, "source": open(f"tests/candidates/saxpy/{sys.argv[2]}.cu").read()}}}))
END
}
serve() { # TOOL [CANDIDATE]: the answer. A lock in the cache gives turns: other runs of this test have a cache of their own
  coproc server { LD_LIBRARY_PATH=$counting PERIGEE_CACHE=$folder/cache exec "$build/perigee" serve --device cuda:0 --db "$folder/serve.db"; }
  local to=${server[1]} pid=$!
  call "$1" "${2:-right}" >&"$to"
  read -r _ <&"${server[0]}"
  read -t 60 -r out <&"${server[0]}"
  exec {to}>&-
  wait $pid
  echo "$out"
}
check "serve: check on a GPU" "$(serve check)" '*"device":"cuda:0"*"verdict":"passed"*'
check "serve: what its red zones show has a source line from the simulator" "$(serve check bounds)" \
  '*"reports":*was overwritten*on sim:check: * out of bounds in kernel saxpy at candidate.cu:*"verdict":"out_of_bounds"*'
check "serve: time beside naive" "$(serve time)" \
  '*cases on cuda:0, sim:check, at n = 1000 only*"name":"naive","speedup":*"time":{"ci95_us":*"unit":"us"*'
check "serve: counters of the hardware" "$(NCU=$folder/ncu serve profile)" \
  '*"hardware":\[{"name":"saxpy: of the memory*s throughput","suggests":"memory is the limit*","value":"91.5%"}\]*'
check "serve: two servers on one GPU take turns" "$(serve time >"$folder/one" & serve time; wait; cat "$folder/one")" \
  '*"verdict":"passed"*"verdict":"passed"*'
check "serve: why there are none" "$(NCU=none serve profile)" '*"no_hardware":"no ncu on this machine"*'
rm -rf "$folder"
finish
