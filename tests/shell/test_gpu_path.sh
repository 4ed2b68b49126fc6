#!/bin/bash
# The GPU path of everything, from the driver's functions up to the judge's verdicts, over a driver whose GPU is the
# simulator (tests/shim). What only hardware shows is in tests/gpu.
. tests/shell/tap.sh
. tests/shell/shim.sh

out=$(on_counting "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu --device cuda:0 --set n=1000 --budget 0.1)
check "a right candidate is timed by the GPU's clock" "$out" "*passed*time *interval*status 0"
graph=$(on_counting "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu --device cuda:0 --set n=1000 --budget 0.1 --method graph --json)
check "and by graphs, held against a batch" "$graph" '*"method":"graph"*"unseen_us":*"verdict":"passed"*'
check "the simulator was asked, too" "$out" "*and on sim:check, for faults that a GPU does not see*"
out=$(on_counting "$build/perigee" check vector/saxpy tests/cheats/reads_past_the_end.cu --device cuda:0 --set n=1000 --budget 0.1)
check "what is right on a GPU by luck is not right" "$out" "*out_of_bounds*, on sim:check*status 1"
out=$(on_shim "$build/perigee" doctor)
check "doctor names the GPU and its driver" "$out" "*cuda:0*simulated GPU*999.0 (CUDA 13.0)*"

# A time that the GPU's memory does not allow, whatever it is: this one moves so many GB/s at most.
known() { # GB/S: a check with that ceiling
  mkdir -p "$folder/perigee/ceilings"
  echo "{\"gpu\":\"simulated GPU\",\"copy\":$1}" >"$folder/perigee/ceilings/simulated-gpu.json"
  on_counting env XDG_DATA_HOME="$folder" "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu \
    --device cuda:0 --set n=131072 --budget 0.1
}
folder=$(mktemp -d)
check "a time above 1.05 times the ceiling is no time" "$(known 0.0001)" \
  "*: cheat *impossible: *GB/s, and this GPU moves at most*status 1"
check "one below is" "$(known 1000000)" "*passed*time *status 0"
rm -rf "$folder"

out=$(on_counting "$build/perigee" check vector/saxpy tests/candidates/saxpy/right.cu --device cuda:1)
check "a GPU that is not there" "$out" "*cuda:1 does not exist: CUDA sees 1 GPU*status 3"
finish
