// y = a x, a in compressed rows (task sparse/spmv): a thread a row.

extern "C" __global__ void spmv(const int* first, const int* column, const float* value,
                                const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = first[row]; i < first[row + 1]; i++) sum += value[i] * x[column[i]];
  y[row] = sum;
}
