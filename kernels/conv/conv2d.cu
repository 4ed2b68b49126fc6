// Convolution with filters of 3 x 3 (task conv/conv2d): one element of the result a thread.

extern "C" __global__ void conv2d(const float* x, const float* w, float* y, int images, int inputs,
                                  int outputs, int height, int width) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  int image = blockIdx.z / outputs, output = blockIdx.z % outputs;
  if (row >= height || column >= width) return;
  float sum = 0;
  for (int input = 0; input < inputs; input++) {
    const float* from = x + ((size_t)image * inputs + input) * height * width;
    const float* filter = w + ((size_t)output * inputs + input) * 9;
    for (int r = 0; r < 3; r++)
      for (int s = 0; s < 3; s++) {
        int y_at = row + r - 1, x_at = column + s - 1;
        if (y_at >= 0 && y_at < height && x_at >= 0 && x_at < width)
          sum += filter[3 * r + s] * from[(size_t)y_at * width + x_at];
      }
  }
  y[(((size_t)image * outputs + output) * height + row) * width + column] = sum;
}
