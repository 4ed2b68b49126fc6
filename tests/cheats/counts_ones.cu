// Says that every key occurs once.
// task: hash/count --set probing=linear --set n=500
// verdict: wrong_result
// reason: occurs
extern "C" __global__ void count_linear(const unsigned long long* keys, unsigned long long* table,
                                        unsigned* counts, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = ((keys[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  while (true) {
    unsigned long long old = atomicCAS(&table[slot], ~0ull, keys[i]);
    if (old == ~0ull || old == keys[i]) break;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
  atomicExch(&counts[slot], 1);
}
