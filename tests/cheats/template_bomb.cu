// Templates that double at every level: more than a compiler has memory for.
// task: vector/saxpy --timeout 200
// verdict: compile_error
// reason: of memory
// slow: ten seconds
template <int N, int PATH>
struct bomb {
  static const int value = bomb<N - 1, 2 * PATH>::value + bomb<N - 1, 2 * PATH + 1>::value;
};
template <int PATH>
struct bomb<0, PATH> {
  static const int value = 1;
};

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  z[0] = bomb<28, 1>::value;
}
