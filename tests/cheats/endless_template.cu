// A template that refers to itself without end.
// task: vector/saxpy
// verdict: compile_error
// reason: excessive recursion
template <int N>
struct deeper {
  static const int value = deeper<N + 1>::value;
};

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  z[0] = deeper<0>::value;
}
