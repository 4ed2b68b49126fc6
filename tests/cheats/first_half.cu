// Computes the first half only.
// task: vector/relu_f32
// verdict: unwritten_output
// reason: never written
extern "C" __global__ void relu_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) y[i] = fmaxf(x[i], 0);
}
