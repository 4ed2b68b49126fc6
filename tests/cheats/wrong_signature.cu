// A kernel of another signature.
// task: vector/saxpy
// verdict: launch_error
// reason: the contract: void saxpy(
extern "C" __global__ void saxpy(const float* x, float a, int n) {}
