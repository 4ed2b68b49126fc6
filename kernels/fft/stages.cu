// Fourier transforms (task fft/c2c), one pass of Stockham's algorithm a launch: transforms of
// `length` are joined in pairs. A thread makes two elements.

extern "C" __global__ void fft_pass(const float2* from, float2* to, int n, int batch, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, half = n / 2;
  if (i >= batch * half) return;
  int row = i / half, j = i % half / length, k = i % length;
  from += (size_t)row * n;
  to += (size_t)row * n;
  float2 a = from[j * length + k], b = from[half + j * length + k];
  float sine, cosine;
  sincospif(-static_cast<float>(k) / length, &sine, &cosine);
  float2 turned = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
  to[2 * j * length + k] = make_float2(a.x + turned.x, a.y + turned.y);
  to[2 * j * length + length + k] = make_float2(a.x - turned.x, a.y - turned.y);
}
