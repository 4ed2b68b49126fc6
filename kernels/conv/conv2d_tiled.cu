// Convolution with filters of 3 x 3 (task conv/conv2d) from tiles in shared memory: a block makes
// 8 x 8 pixels of 128 outputs, a thread a row of 8 pixels of 8 outputs, four input channels at a
// time. While these are multiplied the next four are on their way by cp.async. A thread reads a
// row of 10 pixels once for three taps.
//
// conv2d_filters lays the filters out first: input channel, tap, output, padded with zeros.

constexpr int THREADS = 128, OUTPUTS = 128, SIDE = 8, CHANNELS = 4;
constexpr int PATCH = SIDE + 2, STRIDE = 12;  // of shared rows: eight rows meet no bank twice
constexpr int IMAGE = CHANNELS * PATCH * STRIDE, FILTERS = CHANNELS * 9 * OUTPUTS;
constexpr int PIXELS = CHANNELS * PATCH * PATCH, EACH = (PIXELS + THREADS - 1) / THREADS;

extern "C" __global__ void conv2d_filters(const float* w, float* filters, int inputs, int outputs,
                                          int padded_inputs, int padded_outputs) {
  int output = blockIdx.x * blockDim.x + threadIdx.x, line = blockIdx.y;  // input and tap
  int input = line / 9, tap = line % 9;
  if (output >= padded_outputs || input >= padded_inputs) return;
  filters[(size_t)line * padded_outputs + output] =
      input < inputs && output < outputs ? w[((size_t)output * inputs + input) * 9 + tap] : 0.0f;
}

__device__ inline unsigned address(const float* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

struct Tile {
  float filters[FILTERS];
  float image[IMAGE];
};

// The pixels that a thread brings: where they are within one channel, and where they go.
struct Share {
  int from[EACH], to[EACH], channel[EACH];
  bool inside[EACH];

  __device__ Share(int top, int left, int height, int width) {
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      int at = threadIdx.x + i * THREADS, y = at % (PATCH * PATCH) / PATCH, x = at % PATCH;
      int row = top + y - 1, column = left + x - 1;
      channel[i] = at / (PATCH * PATCH);
      inside[i] = row >= 0 && row < height && column >= 0 && column < width;
      from[i] = inside[i] ? row * width + column : 0;
      to[i] = (channel[i] * PATCH + y) * STRIDE + x;
    }
  }
};

__device__ inline void bring(Tile* tile, const float* x, const float* filters, const Share& share,
                             int input, int inputs, int plane, int padded_outputs) {
#pragma unroll
  for (int i = 0; i < FILTERS / 4 / THREADS; i++) {
    int at = threadIdx.x + i * THREADS, line = at / (OUTPUTS / 4), output = at % (OUTPUTS / 4) * 4;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     address(tile->filters + line * OUTPUTS + output)),
                 "l"(filters + (size_t)(input * 9 + line) * padded_outputs + output)
                 : "memory");
  }
#pragma unroll
  for (int i = 0; i < EACH; i++) {
    if (threadIdx.x + i * THREADS >= PIXELS) break;
    bool inside = share.inside[i] && input + share.channel[i] < inputs;
    const float* from = inside ? x + (size_t)(input + share.channel[i]) * plane + share.from[i] : x;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(
                     address(tile->image + share.to[i])),
                 "l"(from), "r"(inside ? 4 : 0)
                 : "memory");
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ inline void multiply(float (&sum)[8][SIDE], const Tile* tile, int row, int output) {
#pragma unroll 1
  for (int channel = 0; channel < CHANNELS; channel++)
#pragma unroll
    for (int r = 0; r < 3; r++) {
      const float* line = tile->image + (channel * PATCH + row + r) * STRIDE;
      float4 a = *reinterpret_cast<const float4*>(line);
      float4 b = *reinterpret_cast<const float4*>(line + 4);
      float2 c = *reinterpret_cast<const float2*>(line + 8);
      float pixel[PATCH] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y};
#pragma unroll
      for (int s = 0; s < 3; s++) {
        const float* of = tile->filters + (channel * 9 + r * 3 + s) * OUTPUTS + output;
        float4 low = *reinterpret_cast<const float4*>(of);
        float4 high = *reinterpret_cast<const float4*>(of + 4);
        float weight[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int o = 0; o < 8; o++)
#pragma unroll
          for (int p = 0; p < SIDE; p++) sum[o][p] += weight[o] * pixel[s + p];
      }
    }
}

__device__ inline void store_row(float* y, const float (&sum)[SIDE], int column, int width) {
  if (width % 4 == 0 && column + SIDE <= width) {
    float4* to = reinterpret_cast<float4*>(y + column);
    to[0] = make_float4(sum[0], sum[1], sum[2], sum[3]);
    to[1] = make_float4(sum[4], sum[5], sum[6], sum[7]);
    return;
  }
#pragma unroll
  for (int p = 0; p < SIDE; p++)
    if (column + p < width) y[column + p] = sum[p];
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
    conv2d_tiled(const float* x, const float* filters, float* y, int inputs, int outputs,
                 int height, int width, int padded_outputs) {
  __shared__ __align__(16) Tile tiles[2];
  int across = (width + SIDE - 1) / SIDE, plane = height * width;
  int top = blockIdx.x / across * SIDE, left = blockIdx.x % across * SIDE;
  int row = threadIdx.x % SIDE, output = threadIdx.x / SIDE * 8, first = blockIdx.y * OUTPUTS;
  x += (size_t)blockIdx.z * inputs * plane;
  filters += first;
  Share share(top, left, height, width);
  float sum[8][SIDE] = {};
  bring(&tiles[0], x, filters, share, 0, inputs, plane, padded_outputs);
  int turn = 0;
  for (int input = CHANNELS;; input += CHANNELS, turn ^= 1) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // this tile is there for all, and all are done with the one before
    bool more = input < inputs;
    if (more) bring(&tiles[turn ^ 1], x, filters, share, input, inputs, plane, padded_outputs);
    multiply(sum, &tiles[turn], row, output);
    if (!more) break;
  }
  if (top + row >= height) return;
#pragma unroll
  for (int o = 0; o < 8; o++)
    if (first + output + o < outputs)
      store_row(y + (((size_t)blockIdx.z * outputs + first + output + o) * height + top + row) *
                        width,
                sum[o], left, width);
}
