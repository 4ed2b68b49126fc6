// Traps.
// task: vector/saxpy
// verdict: launch_error
// reason: trap
// gpu: launch_error
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  __trap();
}
