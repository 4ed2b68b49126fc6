// Writes zeros, which a tolerance relative to the largest element would let pass.
// task: matmul/f32 --set m=1,17,40 --set n=1,33,24 --set k=1,65,70
// verdict: wrong_result
// reason: got 0
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m && column < n) c[row * n + column] = 0;
}
