#!/bin/bash
# The PTX of the zoo, from its sources: tests/zoo/build.sh [FILE.cu...] (needs nvcc).
set -euo pipefail
cd "$(dirname "$0")"
for source in "${@:-*.cu}"; do
  for file in $source; do
    nvcc -ptx -lineinfo -arch=sm_80 -o "${file%.cu}.ptx" "$file"
    # No paths of the machine that compiled it.
    sed -i -E 's|^(\s*\.file\s+[0-9]+ )".*/([^/"]*)"|\1"\2"|' "${file%.cu}.ptx"
  done
done
