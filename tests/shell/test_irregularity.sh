#!/bin/bash
# The suite over the TSDF workload with a GPU's clock, over a driver whose GPU is the simulator (tests/shim).
. tests/shell/tap.sh
build=${BUILD:-build}
shim=$build/tests/shim
make -s BUILD="$build" "$shim/libcuda.so.1" "$shim/libnvidia-ml.so.1"
folder=$(mktemp -d)

on_shim() { # OPTIONS...: the suite's output and status with that driver
  LD_LIBRARY_PATH=$PWD/$shim "$build/perigee" kernels/tsdf/irregularity.lua --device cuda:0 --cell pts-20k --stage allocate "$@" 2>&1
  echo "status $?"
}

out=$(on_shim --impl rust --passes 2 --budget 8 --csv "$folder/ratios.csv")
check "ratios over passes" "$out$(cat "$folder/ratios.csv")" \
  "*rust *s *.* (*.* .. *.*)  of cuda*status 0*allocate,pts-20k,rust,passed,*,cuda,*.*,*.*,*.*"
out=$(on_shim --causes --full --passes 1 --impl cuda --budget 2)
check "causes are timed and counted" "$out" "*us * share * by count *waiting *%*launch *times explained by counts*"
rm -rf "$folder"
finish
