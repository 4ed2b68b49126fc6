// Threads that find something store the same flag, in shared memory and without an atomic: which of
// them does so does not matter.
// task: reduce/max --set n=3,255,300 --set peaks=1 --set low=-9 --set high=9
// verdict: passed
// finding: weak_write here
extern "C" __global__ void reduce_max(const float* x, float* y, int n) {
  __shared__ int above;
  float most = -3e38f;
  for (bool more = true; more;) { // until nobody finds a larger one
    if (threadIdx.x == 0) above = 0;
    __syncthreads();
    float next = 3e38f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
      if (x[i] > most) next = fminf(next, x[i]);
    if (next < 3e38f) above = 1;
    __syncthreads();
    more = above;
    if (!more) break;
    for (int i = 0; i < n; i++)
      if (x[i] > most) {
        most = x[i];
        break;
      }
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = most;
}
