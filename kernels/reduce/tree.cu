// Reductions as in a textbook (tasks reduce/sum, dot, max, argmax): one element a thread, a tree in
// shared memory, one atomic operation a block.

constexpr int THREADS = 256;

// Where the last block's threads have no element they bring the identity. Thread 0 gets the result.
template <class T, class Combine>
__device__ T tree(T value, Combine combine) {
  __shared__ T all[THREADS];
  all[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] = combine(all[threadIdx.x], all[threadIdx.x + half]);
    __syncthreads();
  }
  return all[0];
}

__device__ inline int element() {
  return blockIdx.x * THREADS + threadIdx.x;
}

// y = 0 before.
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  float value = element() < n ? x[element()] : 0.0f;
  float total = tree(value, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) atomicAdd(y, total);
}

// r = 0 before.
extern "C" __global__ void reduce_dot(const float* x, const float* y, float* r, int n) {
  float value = element() < n ? x[element()] * y[element()] : 0.0f;
  float total = tree(value, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) atomicAdd(r, total);
}

// All bits of y are set before: below every number, whichever way it is compared here. Numbers of
// one sign are ordered as their bits are, upwards or downwards.
extern "C" __global__ void reduce_max(const float* x, float* y, int n) {
  float value = element() < n ? x[element()] : __int_as_float(0xff800000);
  float largest = tree(value, [](float a, float b) { return fmaxf(a, b); });
  if (threadIdx.x != 0) return;
  int bits = __float_as_int(largest + 0.0f);  // -0 becomes 0
  if (bits >= 0) atomicMax(reinterpret_cast<int*>(y), bits);
  else atomicMin(reinterpret_cast<unsigned*>(y), static_cast<unsigned>(bits));
}

// A number and its place as one integer: the larger number is the larger, of equals the first.
__device__ inline unsigned long long key(float value, int i) {
  unsigned bits = __float_as_uint(value + 0.0f);
  unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return static_cast<unsigned long long>(ordered) << 32 | ~static_cast<unsigned>(i);
}

// best = 0 before.
extern "C" __global__ void reduce_argmax(const float* x, unsigned long long* best, int n) {
  unsigned long long mine = element() < n ? key(x[element()], element()) : 0;
  auto larger = [](unsigned long long a, unsigned long long b) { return a > b ? a : b; };
  unsigned long long largest = tree(mine, larger);
  if (threadIdx.x == 0) atomicMax(best, largest);
}

extern "C" __global__ void reduce_argmax_index(const unsigned long long* best, int* index) {
  *index = static_cast<int>(~static_cast<unsigned>(*best));
}
