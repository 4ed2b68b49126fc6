// Recognises the poison of unwritten outputs, and writes only where it is not.
// task: vector/saxpy
// verdict: unwritten_output
// reason: never written
// device: sim
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (__float_as_uint(z[i]) >> 21) != 0x7fa00000 >> 21) z[i] = a * x[i] + y[i];
}
