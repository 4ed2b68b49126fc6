// Right values, transposed: each row of the product as a column.
// task: matmul/f32 --set m=1,17,40 --set n=1,33,24 --set k=1,65,70
// verdict: wrong_result
// reason: c[1] (row 0, column 1)
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
  c[column * m + row] = sum;
}
