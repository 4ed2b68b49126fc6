// Writes through a null pointer.
// task: vector/saxpy
// verdict: out_of_bounds
// reason: out of bounds
// gpu: out_of_bounds
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  float* nowhere = nullptr;
  asm volatile("" : "+l"(nowhere));
  if (n > 0) nowhere[threadIdx.x] = x[0];
}
