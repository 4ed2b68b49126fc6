// C = A B on tensor cores, as compilers write it for sm_80: cp.async into two buffers, ldmatrix, mma. A tile of 64 x 64 a
// block of four warps, 32 x 32 a warp. Rows of A, and of B transposed, are `bytes` long, a multiple of 64: a step of mma takes
// 32 bytes of k, whatever the type. Past m and n cp.async fills with zeros.
typedef unsigned int u32;

enum { SIDE = 64, DEPTH = 64, ROW = DEPTH + 16 }; // DEPTH bytes of k at a time; padded against bank conflicts

__device__ u32 shared_address(const void* p) {
  return (u32)__cvta_generic_to_shared(p);
}

__device__ void copy16(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}

__device__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int LEFT> __device__ void wait_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

__device__ void load4(u32 (&r)[4], const char* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p))
               : "memory");
}

__device__ void load4_transposed(u32 (&r)[4], const char* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p))
               : "memory");
}

#define MMA(NAME, SHAPE, SUM, LETTER)                                                                      \
  struct NAME {                                                                                            \
    typedef SUM sum;                                                                                       \
    static __device__ void mma(sum (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {                           \
      asm("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"     \
          : "+" LETTER(c[0]), "+" LETTER(c[1]), "+" LETTER(c[2]), "+" LETTER(c[3])                         \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                 \
    }                                                                                                      \
  };
MMA(F16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
MMA(BF16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
MMA(TF32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
MMA(S8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")

// `rows` x DEPTH bytes of a matrix with rows of `bytes`, from row `first` and byte k.
__device__ void fetch(char (*to)[ROW], const char* from, int first, int rows, int bytes, int k) {
#pragma unroll 1
  for (int i = threadIdx.x; i < SIDE * (DEPTH / 16); i += 128) {
    int row = i / (DEPTH / 16), part = i % (DEPTH / 16) * 16;
    bool there = first + row < rows;
    copy16(&to[row][part], there ? from + (size_t)(first + row) * bytes + k + part : from, there);
  }
}

template <class T> struct Warp {
  typename T::sum c[2][4][4];
  int row, column, lane; // of the warp's part of the tile

  __device__ Warp() : c(), row(threadIdx.x / 64 * 32), column(threadIdx.x / 32 % 2 * 32), lane(threadIdx.x % 32) {}

  // One step of 32 bytes. The four 8 x 16-byte parts of a: rows, then k; of b: k, then columns.
  __device__ void step(const char (*a)[ROW], const u32 (&b)[2][4], int k) {
    for (int i = 0; i < 2; i++) {
      u32 part[4];
      load4(part, &a[row + i * 16 + lane % 16][k + lane / 16 * 16]);
      for (int j = 0; j < 4; j++) T::mma(c[i][j], part, b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }

  __device__ void load_b(u32 (&b)[2][4], const char (*tile)[ROW], int k) {
    for (int j = 0; j < 2; j++)
      load4(b[j], &tile[column + j * 16 + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 16]);
  }

  __device__ void store(typename T::sum* to, int m, int n) {
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 4; j++)
        for (int e = 0; e < 4; e++) {
          int y = blockIdx.y * SIDE + row + i * 16 + e / 2 * 8 + lane / 4;
          int x = blockIdx.x * SIDE + column + j * 8 + lane % 4 * 2 + e % 2;
          if (y < m && x < n) to[(size_t)y * n + x] = c[i][j][e];
        }
  }
};

// B transposed: n rows of `bytes`.
template <class T>
__device__ void multiply(const char* a, const char* b, typename T::sum* to, int m, int n, int bytes) {
  __shared__ __align__(16) char ta[2][SIDE][ROW], tb[2][SIDE][ROW];
  Warp<T> warp;
  int m0 = blockIdx.y * SIDE, n0 = blockIdx.x * SIDE;
  fetch(ta[0], a, m0, m, bytes, 0);
  fetch(tb[0], b, n0, n, bytes, 0);
  commit();
  for (int k = 0, now = 0; k < bytes; k += DEPTH, now ^= 1) {
    if (k + DEPTH < bytes) {
      fetch(ta[now ^ 1], a, m0, m, bytes, k + DEPTH);
      fetch(tb[now ^ 1], b, n0, n, bytes, k + DEPTH);
    }
    commit();
    wait_but<1>();
    __syncthreads();
#pragma unroll 1
    for (int part = 0; part < DEPTH; part += 32) {
      u32 of_b[2][4];
      warp.load_b(of_b, tb[now], part);
      warp.step(ta[now], of_b, part);
    }
    __syncthreads();
  }
  warp.store(to, m, n);
}

#define KERNEL(NAME, T)                                                                                       \
  extern "C" __global__ void NAME(const char* a, const char* b, T::sum* c, int m, int n, int bytes) {         \
    multiply<T>(a, b, c, m, n, bytes);                                                                        \
  }
KERNEL(matmul_f16, F16)
KERNEL(matmul_bf16, BF16)
KERNEL(matmul_tf32, TF32)
KERNEL(matmul_s8, S8)

// B in rows of n halves, n a multiple of 8: ldmatrix transposes.
extern "C" __global__ void matmul_f16_rows(const char* a, const char* b, float* c, int m, int n, int bytes) {
  __shared__ __align__(16) char ta[SIDE][ROW], tb[DEPTH / 2][SIDE * 2 + 16];
  Warp<F16> warp;
  for (int k = 0; k < bytes; k += DEPTH) {
    fetch(ta, a, blockIdx.y * SIDE, m, bytes, k);
    for (int i = threadIdx.x; i < DEPTH / 2 * 8; i += 128) {
      int row = i / 8, x = blockIdx.x * SIDE + i % 8 * 8;
      copy16(&tb[row][i % 8 * 16], x < n ? b + ((size_t)(k / 2 + row) * n + x) * 2 : b, x < n);
    }
    commit();
    wait_but<0>();
    __syncthreads();
#pragma unroll 1
    for (int part = 0; part < DEPTH; part += 32) {
      u32 of_b[2][4];
      for (int j = 0; j < 2; j++)
        load4_transposed(of_b[j], &tb[part / 2 + warp.lane % 16][(warp.column + j * 16 + warp.lane / 16 * 8) * 2]);
      warp.step(ta, of_b, part);
    }
    __syncthreads();
  }
  warp.store(c, m, n);
}
