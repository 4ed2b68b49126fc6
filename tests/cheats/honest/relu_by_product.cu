// Gives -0 where the reference gives 0: equal as numbers.
// task: vector/relu_f32
// verdict: passed
extern "C" __global__ void relu_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * (x[i] > 0);
}
