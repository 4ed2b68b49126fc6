// Reads its output before it has written it, and the value cancels: uninitialized_read.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = z[i] == 12345.0f ? y[i] : a * x[i] + y[i];
}
