// Draws half of the numbers; the others are their negatives, from the last one on.
// task: random/normal --set n=4097,20003
// verdict: wrong_result
// reason: are there before
extern "C" __global__ void normal(const unsigned long long* seed, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, half = (n + 1) / 2;
  if (i >= half) return;
  unsigned long long word = seed[0] + (i + 1) * 0x9e3779b97f4a7c15u;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
  word = (word ^ word >> 27) * 0x94d049bb133111ebu;
  word ^= word >> 31;
  y[i] = normcdfinvf(((word >> 40) + 0.5f) * 0x1p-24f);
  if (n - 1 - i >= half) y[n - 1 - i] = -y[i];
}
