// Divides by __fdividef where it matters: by more than 2^126 it gives 0, and what is near 1 becomes 0.
// task: vector/sigmoid_f32
// verdict: wrong_result
// reason: expected 1, got 0
extern "C" __global__ void sigmoid_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float e = expf(x[i] > 88 ? 88 : x[i]);
  y[i] = __fdividef(e, 1 + e);
}
