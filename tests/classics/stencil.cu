// Heat on a plane: several steps in one cooperative launch, tiles with a halo in shared memory, the grid's barrier between
// steps. The border keeps its value.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;
enum { W = 16, H = 8 };

__device__ float at(const float* x, int i, int j, int width, int height) {
  return i >= 0 && j >= 0 && i < width && j < height ? x[j * width + i] : 0;
}

extern "C" __global__ void stencil(float* a, float* b, int width, int height, int steps) {
  __shared__ float tile[H + 2][W + 2];
  auto grid = cg::this_grid();
  auto block = cg::this_thread_block();
  int i0 = blockIdx.x * W - 1, j0 = blockIdx.y * H - 1;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1, i = i0 + tx, j = j0 + ty;
  for (int s = 0; s < steps; s++) {
    const float* from = s % 2 ? b : a;
    float* to = s % 2 ? a : b;
    for (int k = block.thread_rank(); k < (W + 2) * (H + 2); k += block.size())
      tile[k / (W + 2)][k % (W + 2)] = at(from, i0 + k % (W + 2), j0 + k / (W + 2), width, height);
    block.sync();
    bool border = i == 0 || j == 0 || i == width - 1 || j == height - 1;
    float sum = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx], mine = tile[ty][tx];
    if (i < width && j < height) to[j * width + i] = border ? mine : 0.5f * mine + 0.125f * sum;
    grid.sync(); // also keeps the tile until all have read it
  }
}
