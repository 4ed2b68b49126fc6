// Puts the keys that it does not find into the table, a const input, and gives their new place.
// task: hash/find --set probing=linear --set n=1000,2048
// verdict: input_modified
// reason: table
extern "C" __global__ void find_linear(const unsigned long long* table,
                                       const unsigned long long* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = ((queries[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  auto open = const_cast<unsigned long long*>(table);
  while (true) {
    unsigned long long old = atomicCAS(&open[slot], ~0ull, queries[i]);
    if (old == ~0ull || old == queries[i]) break;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
  at[i] = slot;
}
