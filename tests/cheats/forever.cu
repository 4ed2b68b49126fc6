// Never ends.
// task: vector/saxpy --timeout 1
// verdict: timeout
// reason: time limit
// gpu: timeout
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  while (*(volatile float*)x != 2) {}
}
