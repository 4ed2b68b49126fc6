extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float* room, float a,
                                 int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i] + room[0];
}
