// Includes the task itself, to read what is expected.
// task: vector/saxpy
// verdict: compile_error
// reason: cannot open source file
// needs: landlock
#include "../../tasks/vector/saxpy.lua"

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {}
