// A dense grid of blocks over the whole scene, the regular counterpart of the hash table: a block's
// place in it is arithmetic.
#pragma once
#include "tsdf.cuh"

struct Lattice {
  int x, y, z;    // its first block
  int wide, high; // blocks along x and y
};

__device__ inline int place_in(const Lattice &grid, int x, int y, int z) {
  return ((z - grid.z) * grid.high + y - grid.y) * grid.wide + x - grid.x;
}

__device__ inline int place_of(const Lattice &grid, const Sample &s) {
  return place_in(grid, s.x >> 3, s.y >> 3, s.z >> 3);
}
