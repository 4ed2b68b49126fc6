// Writes past the end of its output, into whatever is there.
// task: vector/saxpy
// verdict: out_of_bounds
// reason: z
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) z[i] = i < n ? a * x[i] + y[i] : 0;
}
