// A factor with its signs turned round: the product with itself is as right, the contract is not.
// task: linalg/cholesky --set n=1,2,31
// verdict: wrong_result
// reason: diagonal
extern "C" __global__ void cholesky(const float* a, float* l, int n) {
  if (threadIdx.x) return;
  for (int i = 0; i < n * n; i++) l[i] = 0;
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) {
      float sum = a[i * n + j];
      for (int k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? -sqrtf(sum) : sum / l[j * n + j];
    }
}
