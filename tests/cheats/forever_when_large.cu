// Never ends, for large inputs only.
// task: vector/saxpy --timeout 1
// verdict: timeout
// reason: n = 65537
// gpu: timeout n = 65537
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
  while (n > 1000 && *(volatile float*)x != 2) {}
}
