// Fourier transforms (task fft/c2c) that stay in a multiprocessor: Stockham's algorithm, sixteen
// numbers a thread, which pass through registers, shared memory and back with every factor of 16;
// the first factor is 2, 4, 8 or 16, as the length wants it (Govindaraju, Lloyd, Dotsenko, Smith and
// Manferdelli, High performance discrete Fourier transforms on graphics processors, 2008). Memory is
// read once and written once.

constexpr int EACH = 16;

__device__ inline float2 operator+(float2 a, float2 b) {
  return make_float2(a.x + b.x, a.y + b.y);
}

__device__ inline float2 operator-(float2 a, float2 b) {
  return make_float2(a.x - b.x, a.y - b.y);
}

__device__ inline float2 operator*(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__device__ inline float2 times_minus_i(float2 a) {
  return make_float2(a.y, -a.x);
}

// exp(-2 pi i k / 16)
__device__ inline float2 root_of_16(int k) {
  constexpr float c1 = 0.923879532511286756f, c2 = 0.707106781186547524f, c3 = 0.382683432365089772f;
  switch (k) {
    case 0: return make_float2(1, 0);
    case 1: return make_float2(c1, -c3);
    case 2: return make_float2(c2, -c2);
    case 3: return make_float2(c3, -c1);
    case 4: return make_float2(0, -1);
    case 6: return make_float2(-c2, -c2);
    default: return make_float2(-c1, c3);  // 9
  }
}

__device__ inline void transform_2(float2& a, float2& b) {
  float2 sum = a + b;
  b = a - b;
  a = sum;
}

__device__ inline void transform_4(float2& a, float2& b, float2& c, float2& d) {
  transform_2(a, c);
  transform_2(b, d);
  d = times_minus_i(d);
  transform_2(a, b);
  transform_2(c, d);
  float2 third = b;
  b = c;
  c = third;
}

// Transforms of v[0], v[STEP], ..., RADIX numbers. Result k is v[STEP * place(k)].
template <int RADIX, int STEP>
__device__ inline void transform(float2* v) {
  if (RADIX == 2) transform_2(v[0], v[STEP]);
  if (RADIX == 4) transform_4(v[0], v[STEP], v[2 * STEP], v[3 * STEP]);
  if (RADIX < 8) return;
  constexpr int COLUMNS = RADIX / 4;  // as a matrix of 4 rows: first the columns, then the rows
#pragma unroll
  for (int i = 0; i < COLUMNS; i++) {
    transform_4(v[i * STEP], v[(i + COLUMNS) * STEP], v[(i + 2 * COLUMNS) * STEP],
                v[(i + 3 * COLUMNS) * STEP]);
#pragma unroll
    for (int row = 1; row < 4; row++)
      if (i > 0)
        v[(i + row * COLUMNS) * STEP] =
            v[(i + row * COLUMNS) * STEP] * root_of_16(i * row * 4 / COLUMNS);
  }
#pragma unroll
  for (int row = 0; row < 4; row++) {
    float2* of = v + row * COLUMNS * STEP;
    if (COLUMNS == 2) transform_2(of[0], of[STEP]);
    else transform_4(of[0], of[STEP], of[2 * STEP], of[3 * STEP]);
  }
}

template <int RADIX>
__device__ inline constexpr int place(int k) {
  return RADIX < 8 ? k : k % 4 * (RADIX / 4) + k / 4;
}

// v[r] times w^r; powers are made by squaring, so that few roundings reach each.
__device__ inline void turn(float2 (&v)[EACH], float2 w) {
  float2 power[EACH];
  power[1] = w;
#pragma unroll
  for (int r = 2; r < EACH; r++) power[r] = power[r / 2] * power[r - r / 2];
#pragma unroll
  for (int r = 1; r < EACH; r++) v[r] = v[r] * power[r];
}

// No bank twice when sixteen lie beside each other, and when they lie sixteen apart.
__device__ inline int padded(int i) {
  return i + i / 16;
}

// One pass of a thread `t` of `threads`: transforms of `length` are joined, RADIX at a time.
// put(i, value) receives the result.
template <int RADIX, typename Put>
__device__ inline void pass(float2 (&v)[EACH], int t, int threads, int length, Put put) {
  constexpr int STEP = EACH / RADIX;
  if (length > 1) {  // only of sixteen
    float sine, cosine;
    sincospif(-static_cast<float>(t & (length - 1)) / (8 * length), &sine, &cosine);
    turn(v, make_float2(cosine, sine));
  }
#pragma unroll
  for (int i = 0; i < STEP; i++) {
    transform<RADIX, STEP>(v + i);
    int j = t + i * threads, k = j & (length - 1), base = (j - k) * RADIX + k;
#pragma unroll
    for (int r = 0; r < RADIX; r++) put(base + r * length, v[i + STEP * place<RADIX>(r)]);
  }
}

template <int FIRST>
__device__ inline void fft_rows(const float2* x, float2* y, int n, int batch) {
  extern __shared__ float2 memory[];
  int threads = n / EACH, t = threadIdx.x & (threads - 1);
  int of_block = threadIdx.x / threads, row = blockIdx.x * (blockDim.x / threads) + of_block;
  bool live = row < batch;
  float2* shared = memory + of_block * padded(n);
  x += (size_t)row * n;
  y += (size_t)row * n;
  float2 v[EACH];
#pragma unroll
  for (int s = 0; s < EACH; s++) v[s] = live ? __ldcs(x + t + s * threads) : make_float2(0, 0);
  auto store = [&](int i, float2 value) {
    if (live) __stcs(y + i, value);
  };
  auto keep = [&](int i, float2 value) { shared[padded(i)] = value; };
  if (n == FIRST) {
    pass<FIRST>(v, t, threads, 1, store);
    return;
  }
  pass<FIRST>(v, t, threads, 1, keep);
  for (int length = FIRST;; length *= 16) {
    __syncthreads();
#pragma unroll
    for (int s = 0; s < EACH; s++) v[s] = shared[padded(t + s * threads)];
    if (16 * length == n) break;
    __syncthreads();
    pass<16>(v, t, threads, length, keep);
  }
  pass<16>(v, t, threads, n / 16, store);
}

extern "C" __global__ void __launch_bounds__(512)
    fft_2(const float2* x, float2* y, int n, int batch) {
  fft_rows<2>(x, y, n, batch);
}

extern "C" __global__ void __launch_bounds__(512)
    fft_4(const float2* x, float2* y, int n, int batch) {
  fft_rows<4>(x, y, n, batch);
}

extern "C" __global__ void __launch_bounds__(512)
    fft_8(const float2* x, float2* y, int n, int batch) {
  fft_rows<8>(x, y, n, batch);
}

extern "C" __global__ void __launch_bounds__(512)
    fft_16(const float2* x, float2* y, int n, int batch) {
  fft_rows<16>(x, y, n, batch);
}

// Up to eight numbers: a thread a transform.
template <int N>
__device__ inline void fft_small(const float2* x, float2* y) {
  float2 v[N];
#pragma unroll
  for (int i = 0; i < N; i++) v[i] = x[i];
  transform<N, 1>(v);
#pragma unroll
  for (int i = 0; i < N; i++) y[i] = v[place<N>(i)];
}

extern "C" __global__ void fft_few(const float2* x, float2* y, int n, int batch) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= batch) return;
  x += (size_t)row * n;
  y += (size_t)row * n;
  if (n == 1) y[0] = x[0];
  else if (n == 2) fft_small<2>(x, y);
  else if (n == 4) fft_small<4>(x, y);
  else fft_small<8>(x, y);
}
