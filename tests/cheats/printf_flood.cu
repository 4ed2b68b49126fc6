// Prints without end, to fill disks and pipes.
// task: vector/saxpy --timeout 2
// verdict: timeout
// reason: time limit
// finding: print
// gpu: timeout
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  while (*(volatile float*)x != 2) printf("%s %d\n", "a line of a flood", threadIdx.x);
}
