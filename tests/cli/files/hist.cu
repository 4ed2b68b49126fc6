template <typename T>
__global__ void first(T* x) {
  x[0] = 1;
}

// __global__ void second(int* x)
extern "C" __global__ void __launch_bounds__(256)
    histogram(const unsigned char* __restrict__ data, unsigned* bins, float* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&bins[data[i] % n], 1u);
  y[i] = a;
}
