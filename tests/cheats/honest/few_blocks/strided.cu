extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    z[i] = a * x[i] + y[i];
}
