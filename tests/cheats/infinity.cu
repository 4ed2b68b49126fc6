// Writes infinities, which make the product of the factor with itself infinite or NaN.
// task: linalg/cholesky --set n=1,31
// verdict: wrong_result
// reason: inf
extern "C" __global__ void cholesky(const float* a, float* l, int n) {
  for (int i = threadIdx.x; i < n * n; i += blockDim.x)
    l[i] = i % n <= i / n ? __int_as_float(0x7f800000) : 0;
}
