// Softmax of rows (task norm/softmax), a block a row. A row of up to 16 elements a thread stays in
// registers, so it is read once. Longer ones, and those that are not of whole fours, are read
// twice: the first time the largest and the sum are kept at once, and the sum is scaled whenever a
// larger element comes (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).

constexpr float NOTHING = -3.402823466e38f;  // no number is smaller

struct Largest {
  static constexpr float neutral = NOTHING;
  __device__ static float join(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
  static constexpr float neutral = 0;
  __device__ static float join(float a, float b) { return a + b; }
};

template <typename Join>
__device__ inline float join_warp(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    value = Join::join(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

// All threads of the block get the result. `of_warps` is used once only.
template <typename Join>
__device__ inline float join_block(float value, float* of_warps) {
  int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  value = join_warp<Join>(value);
  if (warps == 1) return value;
  if (lane == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  return join_warp<Join>(lane < warps ? of_warps[lane] : Join::neutral);
}

template <int FOURS>
__device__ inline void softmax_in_registers(const float* x, float* y, int columns) {
  __shared__ float of_warps[2][32];
  const float4* from = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * columns);
  float4* to = reinterpret_cast<float4*>(y + (size_t)blockIdx.x * columns);
  float4 v[FOURS];
  float top = NOTHING, sum = 0;
#pragma unroll
  for (int i = 0; i < FOURS; i++) {
    int at = threadIdx.x + i * blockDim.x;
    v[i] = at < columns / 4 ? __ldcs(from + at) : make_float4(NOTHING, NOTHING, NOTHING, NOTHING);
    top = fmaxf(top, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
  }
  top = join_block<Largest>(top, of_warps[0]);
#pragma unroll
  for (int i = 0; i < FOURS; i++) {
    v[i] = make_float4(__expf(v[i].x - top), __expf(v[i].y - top), __expf(v[i].z - top),
                       __expf(v[i].w - top));
    sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
  }
  float scale = 1 / join_block<Sum>(sum, of_warps[1]);
#pragma unroll
  for (int i = 0; i < FOURS; i++) {
    int at = threadIdx.x + i * blockDim.x;
    if (at < columns / 4)
      __stcs(to + at, make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale));
  }
}

extern "C" __global__ void __launch_bounds__(1024) softmax_1(const float* x, float* y, int columns) {
  softmax_in_registers<1>(x, y, columns);
}

extern "C" __global__ void __launch_bounds__(1024) softmax_2(const float* x, float* y, int columns) {
  softmax_in_registers<2>(x, y, columns);
}

extern "C" __global__ void __launch_bounds__(1024) softmax_4(const float* x, float* y, int columns) {
  softmax_in_registers<4>(x, y, columns);
}

extern "C" __global__ void __launch_bounds__(1024) softmax_any(const float* x, float* y,
                                                               int columns) {
  __shared__ float of_warps[2][32];
  x += (size_t)blockIdx.x * columns;
  y += (size_t)blockIdx.x * columns;
  float top = NOTHING, sum = 0;
  for (int j = threadIdx.x; j < columns; j += blockDim.x) {
    float value = x[j];
    if (value > top) {
      sum = sum * __expf(top - value) + 1;
      top = value;
    } else {
      sum += __expf(value - top);
    }
  }
  float all = join_block<Largest>(top, of_warps[0]);
  float scale = 1 / join_block<Sum>(sum * __expf(top - all), of_warps[1]);
  for (int j = threadIdx.x; j < columns; j += blockDim.x) y[j] = __expf(x[j] - all) * scale;
}
