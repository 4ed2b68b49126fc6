// A constant whose computation never ends.
// task: vector/saxpy
// verdict: compile_error
// reason: expression must have a constant value
__host__ __device__ constexpr int endless() {
  int i = 0;
  while (true) i = i * 3 + 1 & 1023;
  return i;
}
constexpr int value = endless();

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  z[0] = value;
}
