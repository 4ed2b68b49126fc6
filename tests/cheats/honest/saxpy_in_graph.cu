// One element a thread, timed by graphs; what cheats there is set beside it.
// task: vector/saxpy --set a=2.5 --budget 0.3 --method graph
// verdict: passed
// device: gpu
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}
