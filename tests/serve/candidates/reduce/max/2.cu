// Begins with an element: right.
extern "C" __global__ void reduce_max(const float* x, float* r, int n) {
  __shared__ float part[256];
  float own = x[0];
  for (int i = threadIdx.x; i < n; i += 256) own = fmaxf(own, x[i]);
  part[threadIdx.x] = own;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) r[0] = part[0];
}
