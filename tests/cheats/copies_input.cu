// Copies an input to the output.
// task: vector/saxpy --set n=1000
// verdict: wrong_result
// reason: a copy of x
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i];
}
