// Right by luck: a neighbour in the warp stores another value first, in lockstep only: race.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ 1;
  if (other < n) z[other] = y[other];
  if (i < n) z[i] = a * x[i] + y[i];
}
