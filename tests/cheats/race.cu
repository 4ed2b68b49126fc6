// Each element gets a first value from one warp and the right one from another, and no barrier
// orders them: right by luck.
// task: vector/saxpy
// verdict: race
// reason: unordered
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ 32;
  if (other < n) z[other] = y[other];
  if (i < n) z[i] = a * x[i] + y[i];
}
