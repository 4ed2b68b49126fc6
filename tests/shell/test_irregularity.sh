#!/bin/bash
# The suite over the TSDF workload with a GPU's clock, over a driver whose GPU is the simulator (tests/shim).
. tests/shell/tap.sh
. tests/shell/shim.sh
folder=$(mktemp -d)

suite() { # OPTIONS...: its output and status
  on_shim "$build/perigee" kernels/tsdf/irregularity.lua --device cuda:0 --cell pts-20k --stage allocate "$@"
}

out=$(suite --impl rust --passes 2 --budget 8 --csv "$folder/ratios.csv")
check "ratios over passes" "$out$(cat "$folder/ratios.csv")" \
  "*rust *s *.* (*.* .. *.*)  of cuda*status 0*allocate,pts-20k,rust,passed,*,cuda,*.*,*.*,*.*"
out=$(suite --causes --full --passes 1)
check "causes are timed and counted" "$out" "*us * share * by count *waiting *%*launch *times explained by counts*"
out=$(on_shim "$build/perigee" kernels/tsdf/places.lua --device cuda:0 --cell pts-20k --processes 1 --places 2 --csv "$folder/places.csv")
check "the same kernel in several places" "$out$(cat "$folder/places.csv")" \
  "*update, pts-20k | ?cuda? | 2 |*?rust? | 2 |*status 0*update,pts-20k,cuda,1,1,*rust,1,2,*cuda,1,2,*"
rm -rf "$folder"
finish
