// Does the work in the first launch only.
// task: vector/saxpy --set n=256
// verdict: unwritten_output
// reason: never written
// finding: global_state
__device__ int launches;

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = threadIdx.x, before = launches;
  __syncthreads();
  if (before == 0) z[i] = a * x[i] + y[i];
  if (i == 0) launches = before + 1;
}
