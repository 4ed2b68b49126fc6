// The largest is subtracted: right, and still one thread a row.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
  int row = blockIdx.x;
  if (threadIdx.x != 0 || row >= rows) return;
  x += (size_t)row * columns;
  y += (size_t)row * columns;
  float largest = x[0], sum = 0.0f;
  for (int i = 0; i < columns; i++) largest = fmaxf(largest, x[i]);
  for (int i = 0; i < columns; i++) sum += expf(x[i] - largest);
  for (int i = 0; i < columns; i++) y[i] = expf(x[i] - largest) / sum;
}
