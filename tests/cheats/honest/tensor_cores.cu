// Tensor cores, tf32, where the contract allows them.
// task: museum/product_tf32
// verdict: passed
__device__ unsigned tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

extern "C" __global__ void product(const float* a, const float* b, float* c, int m, int n) {
  int lane = threadIdx.x, row = 16 * blockIdx.y + lane / 4, column = 8 * blockIdx.x, q = lane % 4;
  float d[4] = {};
  for (int k = 0; k < 64; k += 8) {
    unsigned x0 = tf32(a[row * 64 + k + q]), x1 = tf32(a[(row + 8) * 64 + k + q]);
    unsigned x2 = tf32(a[row * 64 + k + q + 4]), x3 = tf32(a[(row + 8) * 64 + k + q + 4]);
    unsigned w0 = tf32(b[(k + q) * n + column + lane / 4]);
    unsigned w1 = tf32(b[(k + q + 4) * n + column + lane / 4]);
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(w0), "r"(w1));
  }
  for (int i = 0; i < 4; i++) c[(row + 8 * (i / 2)) * n + column + 2 * q + i % 2] = d[i];
}
