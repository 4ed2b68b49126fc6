// A long sum from the last element to the first.
// task: reduce/dot --set n=1,255,20003
// verdict: passed
extern "C" __global__ void reduce_dot(const float* x, const float* y, float* r, int n) {
  __shared__ float part[256];
  float sum = 0;
  for (int i = n - 1 - threadIdx.x; i >= 0; i -= blockDim.x) sum += x[i] * y[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x) return;
  for (int t = 255; t > 0; t--) part[0] += part[t];
  *r = part[0];
}
