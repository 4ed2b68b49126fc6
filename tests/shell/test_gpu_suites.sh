#!/bin/bash
# Suites of tests/gpu that have something to say of a GPU that is the simulator (tests/shim). What only hardware shows
# is for a GPU.
. tests/shell/tap.sh
. tests/shell/shim.sh
make -s BUILD="$build" "$build/tests/gpu/event_loop" "$build/tests/gpu/api_core" "$build/tests/gpu/api_host"

out=$(on_shim tests/gpu/run device)
check "the device from Lua" "$out" "GPU: simulated GPU*, 0 failed*status 0"
out=$(on_counting tests/gpu/run api)
check "the C API over both libraries" "$out" "*api_core * passed, 0 failed*api_host * passed, 0 failed*status 0"
out=$(on_counting tests/gpu/run verdicts)
check "every candidate gets its verdict" "$out" "* passed, 0 failed*status 0"
out=$(on_shim tests/gpu/run ceilings)
check "doctor --measure, and what is done with what it found" "$out" "* 0 failed*status 0"
out=$(NCU=none on_shim tests/gpu/run timing)
check "the comparison of clocks runs" "$out" "* 0 failed*status 0"
finish
