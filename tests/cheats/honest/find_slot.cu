// Slot after slot until the key or an empty one.
// task: hash/find --set probing=linear --set n=17,1000,4099
// verdict: passed
extern "C" __global__ void find_linear(const unsigned long long* table,
                                       const unsigned long long* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = ((queries[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  while (table[slot] != queries[i] && table[slot] != ~0ull)
    slot = slot + 1 == slots ? 0 : slot + 1;
  at[i] = table[slot] == queries[i] ? slot : ~0u;
}
