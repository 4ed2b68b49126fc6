// Prints a line of its own, as one does while looking for a mistake.
// task: vector/saxpy --set n=256
// verdict: passed
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) printf("n is %d\n", n);
  if (i < n) z[i] = a * x[i] + y[i];
}
