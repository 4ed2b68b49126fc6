extern "C" __global__ void count(const float* x, int* positive, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) atomicAdd(positive, 1);
}
