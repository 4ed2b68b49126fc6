// Loops for ever: timeout.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  volatile float* mine = z + i;
  *mine = a * x[i] + y[i];
  while (*mine == *mine) {
  }
}
