// y[column][row] = x[row][column] through a padded tile of 32 x 32; any size.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void transpose(const double* x, double* y, int rows, int columns) {
  __shared__ double tile[32][33];
  int tx = threadIdx.x, column = blockIdx.x * 32 + tx, row = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (column < columns && row + j < rows) tile[j][tx] = x[(row + j) * columns + column];
  cg::this_thread_block().sync();
  int to_row = blockIdx.x * 32, to_column = row + tx;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (to_column < rows && to_row + j < columns) y[(to_row + j) * rows + to_column] = tile[tx][j];
}
