// Stops to work after twenty launches, when it must be timing that runs.
// task: vector/saxpy --set n=4096 --set a=2.5 --budget 1
// verdict: passed
// finding: global_state
// gains: nothing over saxpy_clocked
// device: clock
__device__ int threads;

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && atomicAdd(&threads, 1) < 20 * n) z[i] = a * x[i] + y[i];
}
