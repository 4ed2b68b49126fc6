// An assertion on the device that does not hold.
// task: vector/saxpy
// verdict: launch_error
// reason: assert
extern "C" __device__ void __assertfail(const char* condition, const char* file, unsigned line,
                                        const char* function, size_t size);

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  if (n < 1 << 30) __assertfail("n >= 1 << 30", __FILE__, __LINE__, __func__, 1);
}
