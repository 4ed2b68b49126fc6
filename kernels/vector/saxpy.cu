// z = a x + y (task vector/saxpy): one element a thread, and four elements a thread in 16-byte
// loads and stores, which need fewer instructions for the same bytes.

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy4(const float* x, const float* y, float* z, float a, int n) {
  int quad = blockIdx.x * blockDim.x + threadIdx.x;
  int i = 4 * quad;
  if (i + 3 < n) {
    float4 u = reinterpret_cast<const float4*>(x)[quad];
    float4 v = reinterpret_cast<const float4*>(y)[quad];
    float4 w = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
    reinterpret_cast<float4*>(z)[quad] = w;
  } else {
    for (; i < n; i++) z[i] = a * x[i] + y[i];  // the last, incomplete four
  }
}
