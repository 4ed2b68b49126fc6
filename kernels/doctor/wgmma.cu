// ptx-arch: compute_90a
// What `perigee doctor --measure` runs on GPUs of compute capability 9.0 alone: products of halves
// on tensor cores by whole warp groups, from shared memory, which are faster there than a warp's
// (mma.sync, in ceilings.cu).

#define TEN(p)                                                                                 \
  "%" #p "0, %" #p "1, %" #p "2, %" #p "3, %" #p "4, %" #p "5, %" #p "6, %" #p "7, %" #p "8, " \
  "%" #p "9, "
#define SUMS                                                                       \
  "{" TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) \
      TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127}"
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
#define THIRTY_TWO(i) SIXTEEN(i), SIXTEEN(i + 16)

// 16 * rounds products of a 64 x 16 and a 16 x 256 matrix a warp group of 128 threads, 524288
// operations each. The matrices are all the same number, as in ceilings.cu.
#define TENSOR(TYPE)                                                                            \
  extern "C" __global__ void __launch_bounds__(256)                                             \
      wgmma_##TYPE(unsigned a, int rounds, float *out) {                                        \
    __shared__ __align__(128) unsigned tiles[2560];                                             \
    for (int i = threadIdx.x; i < 2560; i += 256) tiles[i] = a;                                 \
    __syncthreads();                                                                            \
    asm volatile("fence.proxy.async;" ::: "memory");                                            \
    /* Blocks of 8 rows of 16 bytes, one behind the other: 128 bytes along k, 256 across it. */ \
    unsigned at = (unsigned)__cvta_generic_to_shared(tiles);                                    \
    unsigned long long blocks = 128ull >> 4 << 16 | 256ull >> 4 << 32;                          \
    unsigned long long left = blocks | at >> 4, right = blocks | (at + 2048) >> 4;              \
    float d[128] = {};                                                                          \
    _Pragma("unroll 1") for (int r = 0; r < rounds; r++) {                                      \
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                   \
      _Pragma("unroll") for (int k = 0; k < 16; k++) asm volatile(                              \
          "wgmma.mma_async.sync.aligned.m64n256k16.f32." #TYPE "." #TYPE " " SUMS               \
          ", %128, %129, 1, 1, 1, 0, 0;" : THIRTY_TWO(0),                                       \
          THIRTY_TWO(32), THIRTY_TWO(64), THIRTY_TWO(96) : "l"(left), "l"(right));              \
      asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::    \
                       : "memory");                                                             \
    }                                                                                           \
    float sum = 0;                                                                              \
    _Pragma("unroll") for (int k = 0; k < 128; k++) sum += d[k];                                \
    if (sum == -12345.678f) *out = sum;                                                         \
  }

TENSOR(f16)
TENSOR(bf16)
