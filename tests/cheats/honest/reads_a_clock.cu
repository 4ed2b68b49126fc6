// Reads a clock, to wait a moment between two looks at memory: the time is not part of the answer.
// task: vector/saxpy --set n=256
// verdict: passed
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  long long start = clock64();
  while (clock64() - start < 100) {}
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}
