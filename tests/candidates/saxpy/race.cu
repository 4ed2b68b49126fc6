// Right by luck: two threads, of two warps, write every element, the first of them another value, and
// no barrier orders them: race.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ 32;
  if (other < n) z[other] = y[other];
  if (i < n) z[i] = a * x[i] + y[i];
}
