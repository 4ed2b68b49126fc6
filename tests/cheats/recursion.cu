// Calls itself until the stack ends.
// task: vector/saxpy --timeout 2
// verdict: launch_error
// reason: stack
// gpu: out_of_bounds
__device__ __noinline__ float deeper(const volatile float* x, int depth) {
  return depth < 0 ? 0 : deeper(x, depth + 1) + *x;
}

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = deeper(x, 0);
}
