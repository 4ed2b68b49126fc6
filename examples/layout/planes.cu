// Each colour in a plane of its own: the threads of a warp write 32 words beside each other.
extern "C" __global__ void planes(const unsigned int* pixel, float* plane, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int c = 0; c < 4; c++) plane[c * n + i] = (pixel[i] >> 8 * c & 255) / 255.0f;
}

extern "C" __global__ void interleave(const float* plane, float* colour, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int c = 0; c < 4; c++) colour[4 * i + c] = plane[c * n + i];
}
