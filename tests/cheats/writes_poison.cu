// Writes the poison that it has seen to every element, as if it were a value.
// task: vector/saxpy --set n=1000
// verdict: unwritten_output
// reason: never written
// device: sim
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = z[n - 1];
}
