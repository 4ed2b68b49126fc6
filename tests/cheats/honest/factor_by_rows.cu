// The factor row by row (Cholesky and Banachiewicz) by one thread: sums in another order.
// task: linalg/cholesky --set n=1,2,31,64
// verdict: passed
extern "C" __global__ void cholesky(const float* a, float* l, int n) {
  if (threadIdx.x) return;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = j <= i ? a[i * n + j] : 0;
      for (int k = 0; k < j && j <= i; k++) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = j > i ? 0 : i == j ? sqrtf(sum) : sum / l[j * n + j];
    }
}
