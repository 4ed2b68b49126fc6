// Writes past the end of its output, into whatever is there.
// task: vector/saxpy
// verdict: out_of_bounds
// reason: write of 4 bytes out of bounds
// gpu: out_of_bounds z
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) z[i] = i < n ? a * x[i] + y[i] : 0;
}
