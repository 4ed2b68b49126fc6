// Small kernels whose memory accesses map one to one from PTX to machine code: tests/gpu/ncu_compare counts them on a
// GPU and on the simulator. No loop that ptxas would vectorise, no load that it could drop or hoist.

// Sum of a tile of 512 elements a block by a tree in shared memory.
extern "C" __global__ void reduce(const float* x, float* sum, int n) {
  __shared__ float part[256];
  int t = threadIdx.x, i = blockIdx.x * 512 + t;
  float a = i < n ? x[i] : 0.0f, b = i + 256 < n ? x[i + 256] : 0.0f;
  part[t] = a + b;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) atomicAdd(sum, part[0]);
}

// Columns written with a stride of a row: one sector a lane.
extern "C" __global__ void transpose_naive(const float* x, float* y, int n) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  y[column * n + row] = x[row * n + column];
}

// Through a tile without padding: its columns lie in one bank.
extern "C" __global__ void transpose_tiled(const float* x, float* y, int n) {
  __shared__ float tile[32][32];
  int tx = threadIdx.x, ty = threadIdx.y;
  tile[ty][tx] = x[(blockIdx.y * 32 + ty) * n + blockIdx.x * 32 + tx];
  __syncthreads();
  y[(blockIdx.x * 32 + ty) * n + blockIdx.y * 32 + tx] = tile[tx][ty];
}

// 256 bins, counted in shared memory and then added to the grid's.
extern "C" __global__ void histogram(const unsigned int* x, unsigned int* bins, int n) {
  __shared__ unsigned int count[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  count[t] = 0;
  __syncthreads();
  if (i < n) atomicAdd(&count[x[i] & 255u], 1u);
  __syncthreads();
  atomicAdd(&bins[t], count[t]);
}

// Five points, no shared memory: neighbours come from the caches.
extern "C" __global__ void stencil(const float* x, float* y, int n) {
  int i = blockIdx.x * 32 + threadIdx.x + 1, j = blockIdx.y * 8 + threadIdx.y + 1;
  if (i >= n - 1 || j >= n - 1) return;
  int at = j * n + i;
  y[at] = 0.2f * (x[at] + x[at - 1] + x[at + 1] + x[at - n] + x[at + n]);
}

// y = A x, A in compressed sparse rows, one row a thread.
extern "C" __global__ void spmv(const int* start, const int* column, const float* value, const float* x, float* y,
                                int rows) {
  int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  int end = start[row + 1];
#pragma unroll 1
  for (int k = start[row]; k < end; k++) sum += value[k] * x[column[k]];
  y[row] = sum;
}

// C = A B by tiles of 16 x 16. The padding keeps ptxas from joining the loads of a row of `a`.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][17], tb[16][17];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int k = 0; k < n; k += 16) {
    ta[ty][tx] = a[row * n + k + tx];
    tb[ty][tx] = b[(k + ty) * n + column];
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < 16; i++) sum += ta[ty][i] * tb[i][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
