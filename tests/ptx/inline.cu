// A hash insert: functions inlined three deep, an intrinsic from a header, shared memory, a loop.
__device__ unsigned hash(unsigned key) {
  key ^= key >> 16;
  key *= 0x85ebca6bu;
  return key ^ key >> 13;
}

__device__ int find_slot(unsigned *keys, unsigned key, int capacity) {
  for (int i = 0; i < capacity; i++) {
    int slot = (int)((hash(key) + i) % capacity);
    unsigned old = atomicCAS(&keys[slot], 0xffffffffu, key);
    if (old == 0xffffffffu || old == key) return slot;
  }
  return -1;
}

extern "C" __global__ void __launch_bounds__(128)
insert(const unsigned *__restrict__ points, unsigned *keys, int *slots, int n, int capacity) {
  __shared__ int found[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  found[threadIdx.x] = i < n ? find_slot(keys, points[i], capacity) : -1;
  __syncthreads();
  if (i < n) slots[i] = found[threadIdx.x ^ 1];
}
