// Its output does not stay in the cache; what others do with the cache is set beside it.
// task: vector/saxpy --set n=2097152 --budget 0.5
// verdict: passed
// device: gpu
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) __stcs(&z[i], a * x[i] + y[i]);
}
