// The lower triangle of a matrix that is stored by columns, by rows and with 0 above the diagonal.
// Blocks of 32 x 8 threads, 32 x 32 elements.
extern "C" __global__ void lower_of_transposed(const float* __restrict__ a, float* __restrict__ l,
                                               int n) {
  __shared__ float tile[32][33];
  int left = blockIdx.x * 32, top = blockIdx.y * 32, x = threadIdx.x;
#pragma unroll 1
  for (int y = threadIdx.y; y < 32; y += 8)
    if (left + y < n && top + x < n) tile[y][x] = a[(long long)(left + y) * n + top + x];
  __syncthreads();
#pragma unroll 1
  for (int y = threadIdx.y; y < 32; y += 8)
    if (top + y < n && left + x < n)
      l[(long long)(top + y) * n + left + x] = left + x <= top + y ? tile[x][y] : 0.0f;
}
