// One element a thread; what others do at the same size over the simulated GPU is set beside it.
// task: vector/saxpy --set n=4096 --set a=2.5 --budget 1
// verdict: passed
// device: clock
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}
