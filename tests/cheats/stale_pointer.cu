// Keeps the address of its first output, and reads it when that buffer is long gone.
// task: vector/saxpy --set n=256
// verdict: out_of_bounds
// reason: read of 4 bytes out of bounds
// gpu: no: the memory may belong to the next case there
__device__ const float* first;

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = threadIdx.x;
  const float* kept = first;
  __syncthreads();
  z[i] = kept ? kept[i] : a * x[i] + y[i];
  if (i == 0) first = z;
}
