// Radix sort of 32-bit keys (task sort/radix), 8 bits a pass, each key read and written once a pass
// (Adinets and Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022):
// sort_histogram counts the digits of all four passes at once, sort_offsets makes them places, and
// sort_pass finds how many keys of each digit come in earlier tiles by looking back at what the
// blocks of these tiles have published (Merrill and Garland, "Single-pass parallel prefix scan with
// decoupled look-back", 2016).

#ifndef THREADS
#define THREADS 512
#define ITEMS 20
#define PER_SM 2
#endif

constexpr int DIGITS = 256, PASSES = 4, WARPS = THREADS / 32, TILE = THREADS * ITEMS;

static_assert(THREADS >= DIGITS, "every digit has a thread");

// count[PASSES][DIGITS] is 0 before.
extern "C" __global__ void __launch_bounds__(1024)
    sort_histogram(const unsigned* keys, unsigned* count, int n) {
  __shared__ unsigned local[PASSES][DIGITS];
  unsigned* flat = &local[0][0];
  for (int i = threadIdx.x; i < PASSES * DIGITS; i += blockDim.x) flat[i] = 0;
  __syncthreads();
  auto add = [&](unsigned key) {
    for (int pass = 0; pass < PASSES; pass++) atomicAdd(&local[pass][key >> 8 * pass & 255], 1);
  };
  const uint4* fours = reinterpret_cast<const uint4*>(keys);
  int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n / 4; i += stride) {
    uint4 four = fours[i];
    add(four.x);
    add(four.y);
    add(four.z);
    add(four.w);
  }
  if (first < n % 4) add(keys[n / 4 * 4 + first]);
  __syncthreads();
  for (int i = threadIdx.x; i < PASSES * DIGITS; i += blockDim.x)
    if (flat[i]) atomicAdd(count + i, flat[i]);
}

// The sum of `value` over the threads before this one, of the first DIGITS; all threads call it.
__device__ inline unsigned sum_before(unsigned value) {
  __shared__ unsigned of_warp[DIGITS / 32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = value;
  for (int distance = 1; distance < 32; distance *= 2) {
    unsigned other = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31 && warp < DIGITS / 32) of_warp[warp] = sum;
  __syncthreads();
  for (int w = 0; w < DIGITS / 32; w++)
    if (w < warp) sum += of_warp[w];
  return sum - value;
}

// count[pass][digit] becomes the place of the first key with that digit. A block for each pass.
extern "C" __global__ void __launch_bounds__(DIGITS) sort_offsets(unsigned* count) {
  unsigned* mine = count + blockIdx.x * DIGITS + threadIdx.x;
  *mine = sum_before(*mine);
}

// What a tile has published for a digit: nothing yet, the count of the tile, or that of all tiles
// up to it.
constexpr unsigned OWN = 1u << 30, ALL = 2u << 30, COUNT = OWN - 1;

__device__ inline void publish(unsigned* status, unsigned value) {
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(status), "r"(value) : "memory");
}

__device__ inline unsigned published(const unsigned* status) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(status) : "memory");
  return value;
}

// How many keys of this thread's digit the tiles before `tile` hold. Four tiles are asked at a
// time.
__device__ inline unsigned look_back(const unsigned* status, int tile) {
  unsigned sum = 0;
  for (int t = tile - 1; t >= 0;) {
    unsigned of[4];
#pragma unroll
    for (int j = 0; j < 4; j++) of[j] = t >= j ? published(status + (t - j) * DIGITS) : ALL;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (of[j] < OWN) break;  // ask again from here on
      sum += of[j] & COUNT;
      t = of[j] >= ALL ? -1 : t - 1;
      if (t < 0) break;
    }
  }
  return sum;
}

__device__ inline int digit_of(unsigned key, int shift) {
  return key >> shift & (DIGITS - 1);
}

// The lanes of the warp whose digit is the same: four instructions a bit.
__device__ inline unsigned lanes_with(int digit) {
  unsigned lanes = ~0u;
#pragma unroll
  for (int bit = 0; bit < 8; bit++)
    asm volatile("{ .reg .pred set; .reg .b32 with; and.b32 with, %1, %2; setp.ne.u32 set, with, 0;"
                 "  vote.sync.ballot.b32 with, set, 0xffffffff; @!set not.b32 with, with;"
                 "  and.b32 %0, %0, with; }"
                 : "+r"(lanes)
                 : "r"(digit), "r"(1 << bit));
  return lanes;
}

// The place of a key among those of its warp with the same digit; counts[digit] goes up.
__device__ inline unsigned rank_in_warp(unsigned* counts, int digit) {
  unsigned lanes = lanes_with(digit), lane = threadIdx.x % 32, before = 0;
  int leader = 31 - __clz(lanes);
  if (lane == leader) before = atomicAdd(counts + digit, __popc(lanes));
  __syncwarp();
  return __shfl_sync(~0u, before, leader) + __popc(lanes & ((1u << lane) - 1));
}

struct Shared {
  union {
    unsigned counts[WARPS][DIGITS];  // of each warp
    unsigned keys[TILE];             // in order
  };
  unsigned start[DIGITS];  // where the first key of the tile would be, were it of this digit
  int tile;
};

// A full tile (without looking at each index), or the last.
template <bool FULL>
__device__ inline void sort_tile(Shared& shared, const unsigned* from, unsigned* to,
                                 const unsigned* offset, unsigned* status, int n, int shift) {
  int tile = shared.tile, warp = threadIdx.x / 32;
  int first = tile * TILE + warp * 32 * ITEMS + threadIdx.x % 32;
  from += first;
  unsigned key[ITEMS], place[ITEMS];
#pragma unroll
  for (int i = 0; i < ITEMS; i++) key[i] = FULL || first + 32 * i < n ? __ldcs(from + 32 * i) : ~0u;
#pragma unroll
  for (int i = 0; i < ITEMS; i++)
    place[i] = rank_in_warp(shared.counts[warp], digit_of(key[i], shift));
  __syncthreads();

  int digit = threadIdx.x;  // from here to the next barrier, of the first DIGITS threads
  unsigned count = 0;
  if (digit < DIGITS) {
    for (int w = 0; w < WARPS; w++) {
      unsigned of_warp = shared.counts[w][digit];
      shared.counts[w][digit] = count;
      count += of_warp;
    }
    publish(status + tile * DIGITS + digit, (tile == 0 ? ALL : OWN) | count);
  }
  unsigned local = sum_before(count);
  if (digit < DIGITS) {
    for (int w = 0; w < WARPS; w++) shared.counts[w][digit] += local;
    unsigned earlier = look_back(status + digit, tile);
    if (tile > 0) publish(status + tile * DIGITS + digit, ALL | (earlier + count));
    shared.start[digit] = offset[digit] + earlier - local;
  }
  __syncthreads();

#pragma unroll
  for (int i = 0; i < ITEMS; i++) place[i] += shared.counts[warp][digit_of(key[i], shift)];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) shared.keys[place[i]] = key[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ITEMS; i++) {
    int at = threadIdx.x + i * THREADS;
    unsigned k = shared.keys[at];
    if (FULL || tile * TILE + at < n) to[shared.start[digit_of(k, shift)] + at] = k;
  }
}

// status[tiles][DIGITS] and *ticket are 0 before.
extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
    sort_pass(const unsigned* from, unsigned* to, const unsigned* offset, unsigned* status,
              unsigned* ticket, int n, int shift) {
  __shared__ Shared shared;
  if (threadIdx.x == 0) shared.tile = atomicAdd(ticket, 1);
  for (int i = threadIdx.x; i < WARPS * DIGITS; i += THREADS) (&shared.counts[0][0])[i] = 0;
  __syncthreads();
  if ((shared.tile + 1) * TILE <= n) sort_tile<true>(shared, from, to, offset, status, n, shift);
  else sort_tile<false>(shared, from, to, offset, status, n, shift);
}
