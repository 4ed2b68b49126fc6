// y = a x, a in compressed rows (task sparse/spmv), however the lengths of rows differ: every block
// has an equal part of all elements. It reads them in their order, a tile at a time, as vectors,
// leaves the products in shared memory, and adds those of each row there with as many lanes as
// there are for it (Greathouse and Daga, Efficient sparse matrix-vector multiplication on GPUs using
// the CSR storage format, 2014). What a block has of a row that began in an earlier one is its head;
// spmv_heads adds it.

constexpr int THREADS = 256, TILE = 2048, FOURS = TILE / 4 / THREADS;

struct Part {
  int begin, end;  // of the elements; a multiple of four, or the end of all
};

__device__ inline Part part_of(int block, int blocks, int count) {
  long long each = ((long long)count + blocks - 1) / blocks;
  each = (each + 3) / 4 * 4;
  long long begin = min((long long)count, block * each);
  return {static_cast<int>(begin), static_cast<int>(min((long long)count, begin + each))};
}

// The first row that begins at `element` or behind it, from row `low` on.
__device__ inline int row_at(const int* first, int low, int rows, int element) {
  int high = rows;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (first[middle] < element) low = middle + 1;
    else high = middle;
  }
  return low;
}

__device__ inline void multiply_tile(float* product, const int* column, const float* value,
                                     const float* x, int begin, int end) {
#pragma unroll
  for (int i = 0; i < FOURS; i++) {
    int at = 4 * (threadIdx.x + i * THREADS), from = begin + at;
    if (from + 4 <= end) {
      int4 c = __ldcs(reinterpret_cast<const int4*>(column + from));
      float4 v = __ldcs(reinterpret_cast<const float4*>(value + from));
      *reinterpret_cast<float4*>(product + at) = make_float4(
          v.x * __ldg(x + c.x), v.y * __ldg(x + c.y), v.z * __ldg(x + c.z), v.w * __ldg(x + c.w));
    } else {
      for (int k = 0; k < 4 && from + k < end; k++)
        product[at + k] = value[from + k] * x[column[from + k]];
    }
  }
}

// Lanes for each of `count` rows: a power of two, so that all threads have some.
__device__ inline int lanes_for(int count) {
  int lanes = 32;
  while (lanes > 1 && count * lanes > THREADS) lanes /= 2;
  return lanes;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    spmv_stream(const int* first, const int* column, const float* value, const float* x, float* y,
                float* head, int rows) {
  __shared__ float4 memory[TILE / 4];
  __shared__ float carried[2];  // of the row that goes on into the next tile, by turns
  float* product = reinterpret_cast<float*>(memory);
  bool last = blockIdx.x == gridDim.x - 1;
  Part part = part_of(blockIdx.x, gridDim.x, first[rows]);
  int row = row_at(first, 0, rows, part.begin);
  if (threadIdx.x == 0) {
    head[blockIdx.x] = 0;
    carried[0] = 0;
  }
  // The row that began before this part.
  if (row > 0 && part.begin < part.end && first[row] > part.begin) row--;
  int turn = 0;
  for (int begin = part.begin; begin < part.end; begin += TILE, turn ^= 1) {
    int end = min(begin + TILE, part.end);
    multiply_tile(product, column, value, x, begin, end);
    int behind = row_at(first, row, rows, end);
    int lanes = lanes_for(behind - row), lane = threadIdx.x % lanes;
    if (threadIdx.x == 0) carried[turn ^ 1] = 0;
    __syncthreads();
    for (int base = row; base < behind; base += THREADS / lanes) {
      int r = base + threadIdx.x / lanes;
      bool mine = r < behind;
      int from = mine ? first[r] : 0, to = mine ? first[r + 1] : 0;
      float sum = 0;
      for (int i = max(from, begin) + lane; i < min(to, end); i += lanes) sum += product[i - begin];
      for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (!mine || lane > 0) continue;
      if (from < begin) sum += carried[turn];
      if (to > end && end < part.end) carried[turn ^ 1] = sum;
      else if (from < part.begin) head[blockIdx.x] = sum;
      else y[r] = sum;
    }
    __syncthreads();
    row = behind > row && first[behind] > end ? behind - 1 : behind;
  }
  // Rows without elements at the end of all.
  if (last)
    for (int r = row_at(first, 0, rows, first[rows]) + threadIdx.x; r < rows; r += THREADS) y[r] = 0;
}

// A thread for each part: the first of those into which a row goes on adds all of that row's heads.
extern "C" __global__ void spmv_heads(const int* first, float* y, const float* head, int rows,
                                      int parts) {
  int p = blockIdx.x * blockDim.x + threadIdx.x, count = first[rows];
  if (p == 0 || p >= parts) return;
  int begin = part_of(p, parts, count).begin;
  int row = row_at(first, 0, rows, begin) - 1;
  if (begin >= count || row < 0 || first[row + 1] <= begin) return;
  if (first[row] < part_of(p - 1, parts, count).begin) return;
  float sum = y[row];
  for (; p < parts && part_of(p, parts, count).begin < first[row + 1]; p++) sum += head[p];
  y[row] = sum;
}
