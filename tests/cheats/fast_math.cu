// Approximate functions where they matter: the logarithm of a number near 1.
// task: vector/softplus_f32
// verdict: wrong_result
// reason: expected
extern "C" __global__ void softplus_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __logf(1 + __expf(x[i]));
}
