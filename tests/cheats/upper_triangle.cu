// Leaves the upper triangle as it was, where the contract says 0.
// task: linalg/cholesky --set n=2,31
// verdict: unwritten_output
// reason: never written
extern "C" __global__ void cholesky(const float* a, float* l, int n) {
  if (threadIdx.x) return;
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) {
      float sum = a[i * n + j];
      for (int k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? sqrtf(sum) : sum / l[j * n + j];
    }
}
