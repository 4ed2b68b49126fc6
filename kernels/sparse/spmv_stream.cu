// y = a x, a in compressed rows (task sparse/spmv), however the lengths of rows differ: every block
// has an equal part of all elements. It reads them in their order, a tile at a time, as vectors,
// leaves the products in shared memory, and, while the next tile is on its way, adds those of each
// row there with as many lanes as there are for it (Greathouse and Daga, Efficient sparse
// matrix-vector multiplication on GPUs using the CSR storage format, 2014). What a block has of a
// row that began in an earlier one is its head; spmv_heads adds it.

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

// The first row that begins at `element` or behind it. A warp searches, 32 places at a time.
__device__ inline int row_at(const int* first, int rows, int element) {
  int low = 0, high = rows, lane = threadIdx.x % 32;
  while (low < high) {
    int step = (high - low + 31) / 32, probe = low + lane * step;
    bool before = probe < high && first[probe] < element;
    int count = __popc(__ballot_sync(~0u, before));
    if (count == 0) return low;
    int last = low + (count - 1) * step;
    low = last + 1;
    high = min(high, last + step);
  }
  return low;
}

// A thread's part of a tile, on its way from memory; zeros behind the end.
struct Share {
  int4 column[FOURS];
  float4 value[FOURS];

  __device__ void load(const int* columns, const float* values, int begin, int end) {
#pragma unroll
    for (int i = 0; i < FOURS; i++) {
      int from = begin + 4 * (threadIdx.x + i * THREADS), left = end - from;
      column[i] = make_int4(0, 0, 0, 0);
      value[i] = make_float4(0, 0, 0, 0);
      if (left >= 4) {
        column[i] = __ldcs(reinterpret_cast<const int4*>(columns + from));
        value[i] = __ldcs(reinterpret_cast<const float4*>(values + from));
      } else {
        if (left > 0) column[i].x = columns[from], value[i].x = values[from];
        if (left > 1) column[i].y = columns[from + 1], value[i].y = values[from + 1];
        if (left > 2) column[i].z = columns[from + 2], value[i].z = values[from + 2];
      }
    }
  }

  __device__ void multiply(float4* product, const float* x) const {
#pragma unroll
    for (int i = 0; i < FOURS; i++) {
      int4 c = column[i];
      float4 v = value[i];
      product[threadIdx.x + i * THREADS] = make_float4(
          v.x * __ldg(x + c.x), v.y * __ldg(x + c.y), v.z * __ldg(x + c.z), v.w * __ldg(x + c.w));
    }
  }
};

// Lanes for each of `count` rows: a power of two, so that all threads have some.
__device__ inline int lanes_for(int count) {
  int lanes = 32;
  while (lanes > 1 && count * lanes > THREADS) lanes /= 2;
  return lanes;
}

__device__ inline int start_of(const int* first, int rows, int row, int otherwise) {
  return row <= rows ? first[row] : otherwise;
}

// Sums of the rows that begin with starts[0], starts[1], ... `count` of them, as far as they lie in
// the tile from `begin` to `end`. finish(i, sum) gets that of row i.
template <typename Finish>
__device__ inline void add_rows(const float* product, const int* starts, int count, int begin,
                                int end, Finish finish) {
  int lanes = lanes_for(count), lane = threadIdx.x % lanes;
  for (int base = 0; base < count; base += THREADS / lanes) {
    int i = base + threadIdx.x / lanes;
    bool mine = i < count;
    int from = mine ? max(starts[i], begin) - begin : 0;
    int to = mine ? min(starts[i + 1], end) - begin : 0;
    float sum = 0;
    for (int k = from + lane; k < to; k += lanes) sum += product[k];
    for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (mine && lane == 0) finish(i, sum);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, 5)
    spmv_stream(const int* first, const int* column, const float* value, const float* x, float* y,
                float* head, int* head_row, int rows) {
  __shared__ float4 memory[TILE / 4];
  __shared__ int starts[THREADS + 1];
  __shared__ float carried[2];  // of the row that goes on into the next tile, by turns
  float* product = reinterpret_cast<float*>(memory);
  int t = threadIdx.x, count_of_all = first[rows], turn = 0;
  bool last = blockIdx.x == gridDim.x - 1;
  Part part = part_of(blockIdx.x, gridDim.x, count_of_all);
  int row = row_at(first, rows, part.begin);
  // The row that began before this part.
  bool goes_on = row > 0 && part.begin < part.end && first[row] > part.begin;
  if (goes_on) row--;
  if (t == 0) {
    head[blockIdx.x] = 0;
    head_row[blockIdx.x] = goes_on ? row : -1;
    carried[0] = 0;
  }
  Share share;
  if (part.begin < part.end) share.load(column, value, part.begin, part.end);
  for (int begin = part.begin; begin < part.end; begin += TILE, turn ^= 1) {
    int end = min(begin + TILE, part.end), count;
    int start = start_of(first, rows, row + t, end);
    int behind = start_of(first, rows, row + THREADS, end);
    if (t == 0) carried[turn ^ 1] = 0;
    share.multiply(memory, x);
    if (end < part.end) share.load(column, value, end, part.end);  // while this one is added up
    do {  // of the rows in this tile, 256 at a time
      starts[t] = start;
      if (t == 0) starts[THREADS] = behind;
      count = __syncthreads_count(row + t < rows && start < end);
      add_rows(product, starts, count, begin, end, [&](int i, float sum) {
        if (starts[i] < begin) sum += carried[turn];
        if (starts[i + 1] > end && end < part.end) carried[turn ^ 1] = sum;
        else if (starts[i] < part.begin) head[blockIdx.x] = sum;
        else y[row + i] = sum;
      });
      row += count;
      if (count < THREADS && starts[count] > end) row--;  // it goes on
      if (count == THREADS) {
        start = start_of(first, rows, row + t, end);
        behind = start_of(first, rows, row + THREADS, end);
      }
      __syncthreads();
    } while (count == THREADS);
  }
  // Rows without elements at the end of all.
  if (last)
    for (int r = row_at(first, rows, count_of_all) + t; r < rows; r += THREADS) y[r] = 0;
}

// A thread for each part: the first of those into which a row goes on adds all of that row's heads.
extern "C" __global__ void spmv_heads(float* y, const float* head, const int* head_row, int parts) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= parts) return;
  int row = head_row[p];
  if (row < 0 || (p > 0 && head_row[p - 1] == row)) return;
  float sum = y[row];
  for (; p < parts && head_row[p] == row; p++) sum += head[p];
  y[row] = sum;
}
