// Bitonic sort of n = 2^k floats: strides that fit a block in shared memory, longer ones a launch each.
enum { HALF = 256, CHUNK = 2 * HALF }; // threads of a block, elements

__device__ void exchange(float& a, float& b, bool ascending) {
  if ((a > b) != ascending) return;
  float c = a;
  a = b;
  b = c;
}

// Strides from `stride` down to 1 of the merge to runs of `run`, on the block's chunk.
__device__ void merge(float* chunk, int run, int stride) {
  for (; stride > 0; stride /= 2) {
    __syncthreads();
    int i = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
    exchange(chunk[i], chunk[i + stride], ((blockIdx.x * CHUNK + i) & run) == 0);
  }
  __syncthreads();
}

__device__ void load(float* chunk, const float* x) {
  for (int i = threadIdx.x; i < CHUNK; i += HALF) chunk[i] = x[blockIdx.x * CHUNK + i];
}

__device__ void store(const float* chunk, float* x) {
  for (int i = threadIdx.x; i < CHUNK; i += HALF) x[blockIdx.x * CHUNK + i] = chunk[i];
}

extern "C" __global__ void bitonic_chunks(float* x) {
  __shared__ float chunk[CHUNK];
  load(chunk, x);
  for (int run = 2; run <= CHUNK; run *= 2) merge(chunk, run, run / 2);
  store(chunk, x);
}

extern "C" __global__ void bitonic_step(float* x, int run, int stride) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, i = 2 * t - (t & (stride - 1));
  exchange(x[i], x[i + stride], (i & run) == 0);
}

extern "C" __global__ void bitonic_merge(float* x, int run) {
  __shared__ float chunk[CHUNK];
  load(chunk, x);
  merge(chunk, run, CHUNK / 2);
  store(chunk, x);
}
