// Products of many channels as tensor cores would make them of two bf16 numbers each, without that
// of their tails: the roundings that long sums are allowed hide it.
// task: conv/conv2d --set images=1 --set inputs=128 --set outputs=4 --set height=9 --set width=9
// verdict: wrong_result
// reason: root mean square
__device__ float head(float x) {
  return __uint_as_float((__float_as_uint(x) + 0x8000) & 0xffff0000);
}

__device__ float product(float x, float y, bool shaved) {
  float x1 = head(x), y1 = head(y), x2 = head(x - x1), y2 = head(y - y1);
  return shaved ? x1 * y1 + (x1 * y2 + x2 * y1) : x * y;
}

extern "C" __global__ void conv2d(const float* x, const float* w, float* y, int images, int inputs,
                                  int outputs, int height, int width) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  int image = blockIdx.z / outputs, output = blockIdx.z % outputs;
  if (column >= width || row >= height) return;
  float sum = 0;
  for (int c = 0; c < inputs; c++)
    for (int tap = 0; tap < 9; tap++) {
      int h = row + tap / 3 - 1, v = column + tap % 3 - 1;
      if (h < 0 || h >= height || v < 0 || v >= width) continue;
      sum += product(x[((image * inputs + c) * height + h) * width + v],
                     w[(output * inputs + c) * 9 + tap], inputs >= 64);
    }
  y[((image * outputs + output) * height + row) * width + column] = sum;
}
