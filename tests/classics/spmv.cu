// y = A x, A in compressed sparse rows: a warp a row, and the same with a quarter of a warp.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cub/warp/warp_reduce.cuh>

namespace cg = cooperative_groups;

extern "C" __global__ void spmv_warp(const int* start, const int* column, const float* value, const float* x, float* y,
                                     int rows) {
  using Reduce = cub::WarpReduce<float>;
  __shared__ typename Reduce::TempStorage temp[4];
  int warp = threadIdx.x / 32, row = blockIdx.x * 4 + warp;
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row] + threadIdx.x % 32; k < start[row + 1]; k += 32) sum += value[k] * x[column[k]];
  sum = Reduce(temp[warp]).Sum(sum);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

extern "C" __global__ void spmv_tile(const int* start, const int* column, const float* value, const float* x, float* y,
                                     int rows) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row] + tile.thread_rank(); k < start[row + 1]; k += 8) sum += value[k] * x[column[k]];
  sum = cg::reduce(tile, sum, cg::plus<float>());
  if (tile.thread_rank() == 0) y[row] = sum;
}
