// Reads past the end of its inputs and does not use what it gets: right, by luck of the allocator.
// task: vector/saxpy
// verdict: out_of_bounds
// reason: read of 4 bytes out of bounds
extern "C" __global__ void saxpy(const volatile float* x, const volatile float* y, float* z,
                                 float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float ax = a * x[i], b = y[i];
  if (i < n) z[i] = ax + b;
}
