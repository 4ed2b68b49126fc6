// Writes nothing: unwritten_output.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && a * x[i] + y[i] > 1e30f) z[i] = 0.0f;
}
