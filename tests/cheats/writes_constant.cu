// Writes to constant memory.
// task: vector/saxpy
// verdict: input_modified
// reason: read-only
// gpu: no: the store goes nowhere, or stops the kernel
__constant__ float factor[4] = {1, 2, 3, 4};

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* at = const_cast<float*>(factor);
  asm volatile("" : "+l"(at));
  at[threadIdx.x & 3] = 0;
  if (i < n) z[i] = a * x[i] + y[i] + factor[i & 3];
}
