extern "C" __global__ void part(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = blockIdx.z; i < k; i += gridDim.z) sum += a[row * k + i] * b[i * n + column];
  atomicAdd(&c[row * n + column], sum);
}
