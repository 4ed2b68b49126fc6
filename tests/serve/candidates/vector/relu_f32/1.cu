// Right, with lanes to spare: one element a thread.
extern "C" __global__ void relu_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.0f ? x[i] : x[i] * 0.0f;
}
