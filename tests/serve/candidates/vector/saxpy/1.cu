// Wrong in the last element only: wrong_result.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i] + (i == n - 1 ? 1.0f : 0.0f);
}
