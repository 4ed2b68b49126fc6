// NaN in one element of many: wrong_result.
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = i % 100 == 99 ? __int_as_float(0x7fffffff) : a * x[i] + y[i];
}
