// Winograd's minimal filtering with tiles of 4 by 4: a quarter of the products, and ten times the
// rounding errors. A thread a tile.
// task: conv/conv2d --set images=1 --set inputs=32 --set outputs=4 --set height=30 --set width=31
// verdict: passed
__device__ void to_six(const float* g, int step, float* u) { // G g
  float even = g[0] + g[2 * step], four = g[0] * (1.0f / 24) + g[2 * step] * (1.0f / 6);
  u[0] = g[0] * 0.25f;
  u[1] = (even + g[step]) * (-1.0f / 6);
  u[2] = (even - g[step]) * (-1.0f / 6);
  u[3] = four + g[step] * (1.0f / 12);
  u[4] = four - g[step] * (1.0f / 12);
  u[5] = g[2 * step];
}

__device__ void mix_six(const float* d, int step, float* v) { // B^T d
  float a = d[0], b = d[step], c = d[2 * step], e = d[3 * step], f = d[4 * step], g = d[5 * step];
  v[0] = 4 * a - 5 * c + f;
  v[1] = f - 4 * c + (e - 4 * b);
  v[2] = f - 4 * c - (e - 4 * b);
  v[3] = f - c + 2 * (e - b);
  v[4] = f - c - 2 * (e - b);
  v[5] = 4 * b - 5 * e + g;
}

__device__ void to_four(const float* m, int step, float* y) { // A^T m
  float a = m[step] + m[2 * step], b = m[step] - m[2 * step];
  float c = m[3 * step] + m[4 * step], d = m[3 * step] - m[4 * step];
  y[0] = m[0] + a + c;
  y[1] = b + 2 * d;
  y[2] = a + 4 * c;
  y[3] = b + 8 * d + m[5 * step];
}

extern "C" __global__ void conv2d(const float* x, const float* w, float* y, int images, int inputs,
                                  int outputs, int height, int width) {
  int left = 4 * (blockIdx.x * 32 + threadIdx.x), top = 4 * (blockIdx.y * 8 + threadIdx.y);
  int image = blockIdx.z / outputs, output = blockIdx.z % outputs;
  if (left >= width || top >= height) return;
  float sums[36] = {}, tile[36], half[36], line[6];
  for (int c = 0; c < inputs; c++) {
    const float* plane = x + (size_t)(image * inputs + c) * height * width;
    for (int i = 0; i < 36; i++) {
      int h = top + i / 6 - 1, v = left + i % 6 - 1;
      tile[i] = h < 0 || h >= height || v < 0 || v >= width ? 0 : plane[h * width + v];
    }
    for (int k = 0; k < 6; k++) { // columns, then rows
      mix_six(tile + k, 6, line);
      for (int i = 0; i < 6; i++) half[6 * i + k] = line[i];
    }
    for (int k = 0; k < 6; k++) mix_six(half + 6 * k, 1, tile + 6 * k);
    const float* g = w + (size_t)(output * inputs + c) * 9;
    float filter[18];
    for (int k = 0; k < 3; k++) {
      to_six(g + k, 3, line);
      for (int i = 0; i < 6; i++) filter[3 * i + k] = line[i];
    }
    for (int k = 0; k < 6; k++) {
      to_six(filter + 3 * k, 1, line);
      for (int i = 0; i < 6; i++) sums[6 * k + i] += line[i] * tile[6 * k + i];
    }
  }
  float rows[24];
  for (int k = 0; k < 6; k++) {
    to_four(sums + k, 6, line);
    for (int i = 0; i < 4; i++) rows[6 * i + k] = line[i];
  }
  for (int i = 0; i < 4 && top + i < height; i++) {
    to_four(rows + 6 * i, 1, line);
    for (int j = 0; j < 4 && left + j < width; j++)
      y[((size_t)(image * outputs + output) * height + top + i) * width + left + j] = line[j];
  }
}
