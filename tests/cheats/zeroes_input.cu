// Zeroes its inputs, so that zeros would be right if the expected values were made afterwards.
// task: vector/saxpy
// verdict: input_modified
// reason: write to a read-only buffer
// gpu: input_modified x
// device: sim
extern "C" __global__ void saxpy(float* x, float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = y[i] = z[i] = 0;
}
