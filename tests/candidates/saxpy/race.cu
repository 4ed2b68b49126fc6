// Right by luck: one warp stores other values where the next one stores its own, unordered: race.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 64 < 32 && i + 32 < n) z[i + 32] = y[i + 32];
  if (i < n) z[i] = a * x[i] + y[i];
}
