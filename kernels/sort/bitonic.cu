// Bitonic sort of any number of keys (task sort/radix), one launch a step: each thread compares two
// keys and puts the smaller one first. Keys from n to the next power of two count as infinite, and
// stay where they are.

extern "C" __global__ void bitonic(unsigned* keys, int n, int size, int stride) {
  int pair = blockIdx.x * blockDim.x + threadIdx.x;
  int low = pair / stride * (2 * stride) + pair % stride;
  int high = 2 * stride == size ? low / size * size + size - 1 - low % size : low + stride;
  if (high >= n) return;
  unsigned a = keys[low], b = keys[high];
  if (a <= b) return;
  keys[low] = b;
  keys[high] = a;
}
