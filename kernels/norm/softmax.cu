// Softmax of rows (task norm/softmax): a thread a row, which it reads three times.

extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (size_t)row * columns;
  y += (size_t)row * columns;
  float top = x[0], sum = 0;
  for (int j = 1; j < columns; j++) top = fmaxf(top, x[j]);
  for (int j = 0; j < columns; j++) sum += expf(x[j] - top);
  for (int j = 0; j < columns; j++) y[j] = expf(x[j] - top) / sum;
}
