// By the formula that does not overflow.
// task: vector/softplus_f32
// verdict: passed
extern "C" __global__ void softplus_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0) + log1pf(expf(-fabsf(x[i])));
}
