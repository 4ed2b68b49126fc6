// Has no bounds check, so threads past the end read and write outside: out_of_bounds.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = a * x[i] + y[i];
}
