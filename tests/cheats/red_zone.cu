// Leaves a mark before the start of its output, for later launches to find.
// task: vector/saxpy --set n=256
// verdict: out_of_bounds
// reason: write of 4 bytes out of bounds
// gpu: out_of_bounds before the start of z
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = threadIdx.x;
  z[i] = a * x[i] + y[i];
  if (i == 0) z[-1] = 1;
}
