// Products of the factor's elements as tensor cores would make them of two bf16 numbers each, without
// that of their tails: long sums may be off by more.
// task: linalg/cholesky --set n=150 --set factor=column
// verdict: wrong_result
// reason: l^T
__device__ float head(float x) {
  return __uint_as_float((__float_as_uint(x) + 0x8000) & 0xffff0000);
}

__device__ float product(float x, float y) {
  float x1 = head(x), y1 = head(y), x2 = head(x - x1), y2 = head(y - y1);
  return x1 * y1 + (x1 * y2 + x2 * y1);
}

extern "C" __global__ void cholesky(const float* a, float* l, int n) {
  for (int j = 0; j < n; j++) {
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      float sum = i < j ? 0 : a[i * n + j], pivot = a[j * n + j];
      for (int k = 0; k < j && i >= j; k++) {
        sum -= product(l[i * n + k], l[j * n + k]);
        pivot -= product(l[j * n + k], l[j * n + k]);
      }
      l[i * n + j] = i < j ? 0 : i == j ? sqrtf(pivot) : sum / sqrtf(pivot);
    }
  }
}
