extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  extern __shared__ float mine[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  mine[threadIdx.x] = a * x[i];
  z[i] = mine[threadIdx.x] + y[i];
}
