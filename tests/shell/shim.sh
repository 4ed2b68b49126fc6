#!/bin/bash
# Sourced by shell tests that run over a driver whose GPU is the simulator (tests/shim).
build=${BUILD:-build}
shim=$build/tests/shim
counting=$PWD/$shim/counting:$PWD/$shim
make -s BUILD="$build" "$shim/libcuda.so.1" "$shim/counting/libcuda.so.1" "$shim/libnvidia-ml.so.1"

on_shim() { # COMMAND...: its output and status with that driver, whose clock is the computer's
  LD_LIBRARY_PATH=$PWD/$shim "$@" 2>&1
  echo "status $?"
}

on_counting() { # the same with a clock that a busy computer does not slow: what is judged by time
  LD_LIBRARY_PATH=$counting "$@" 2>&1
  echo "status $?"
}
