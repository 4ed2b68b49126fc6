// Cholesky factorization, a = l l^T (task linalg/cholesky), one launch a column: each thread makes
// an element of column j from the columns before it.

extern "C" __global__ void cholesky_column(const float* a, float* l, int n, int j) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *row = l + (size_t)i * n, *pivot = l + (size_t)j * n;
  float sum = a[(size_t)i * n + j], square = a[(size_t)j * n + j];
  if (i > j)
    for (int k = 0; k < j; k++) sum -= row[k] * pivot[k];
  for (int k = 0; k < j; k++) square -= pivot[k] * pivot[k];
  l[(size_t)i * n + j] = i < j ? 0 : i == j ? sqrtf(square) : sum / sqrtf(square);
}
