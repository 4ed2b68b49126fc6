// Each element gets a first value from one lane and the right one from its neighbour, and nothing but
// the lockstep of a warp orders them: right by luck.
// task: vector/saxpy
// verdict: race
// reason: unordered
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ 1;
  if (other < n) z[other] = y[other];
  if (i < n) z[i] = a * x[i] + y[i];
}
