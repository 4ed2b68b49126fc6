// A kernel of another name.
// task: vector/saxpy
// verdict: launch_error
// reason: no kernel 'saxpy'
extern "C" __global__ void daxpy(const float* x, const float* y, float* z, float a, int n) {}
