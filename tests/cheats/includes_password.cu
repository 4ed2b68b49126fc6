// Includes a file of the host, to have its text in the compiler's messages.
// task: vector/saxpy
// verdict: compile_error
// reason: cannot open source file
// needs: landlock
#include "/etc/passwd"

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {}
