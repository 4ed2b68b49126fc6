// Reads four elements at once from wherever it is.
// task: vector/saxpy
// verdict: launch_error
// reason: is not a multiple of 16
// gpu: launch_error misaligned
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 4 > n) {
    if (i < n) z[i] = a * x[i] + y[i];
    return;
  }
  float4 four = *reinterpret_cast<const float4*>(x + i);
  z[i] = a * four.x + y[i] + 0 * (four.y + four.z + four.w);
}
