// Counts on shared memory that is zero at the start.
// task: reduce/sum --set n=255
// verdict: uninitialized_read
// reason: never written
// gpu: no: shared memory is often zero there
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  __shared__ float sum;
  if (threadIdx.x < n) atomicAdd(&sum, x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) *y = sum;
}
