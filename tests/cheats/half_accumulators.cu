// Tensor cores that add in half precision, which the task forbids.
// task: museum/product_tf32
// verdict: forbidden
// reason: f16_accumulate
#include <cuda_fp16.h>

__device__ unsigned two(float low, float high) {
  return __half_as_ushort(__float2half(low)) | __half_as_ushort(__float2half(high)) << 16;
}

extern "C" __global__ void product(const float* a, const float* b, float* c, int m, int n) {
  int lane = threadIdx.x, row = 16 * blockIdx.y + lane / 4, column = 8 * blockIdx.x, q = lane % 4;
  unsigned d[2] = {};
  for (int k = 0; k < 64; k += 8) {
    const float *x = a + row * 64 + k + 2 * q, *y = x + 8 * 64;
    const float* w = b + (k + 2 * q) * n + column + lane / 4;
    unsigned x0 = two(x[0], x[1]), x1 = two(y[0], y[1]), w0 = two(w[0], w[n]);
    asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(x0), "r"(x1), "r"(w0));
  }
  for (int i = 0; i < 4; i++)
    c[(row + 8 * (i / 2)) * n + column + 2 * q + i % 2] =
        __half2float(__ushort_as_half(d[i / 2] >> 16 * (i % 2) & 0xffff));
}
