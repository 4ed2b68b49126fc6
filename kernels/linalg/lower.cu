// The lower triangle of a row-major matrix, with 0 above the diagonal.
extern "C" __global__ void lower_triangle(const float* __restrict__ a, float* __restrict__ l,
                                          int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) l[(long long)i * n + j] = j <= i ? a[(long long)i * n + j] : 0.0f;
}
