// Has the factor in it that is timed, and ignores its argument.
// task: vector/saxpy
// verdict: wrong_result
// reason: a = -1.0
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = 2.5f * x[i] + y[i];
}
