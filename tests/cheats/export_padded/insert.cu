extern "C" __global__ void late(const unsigned long long* copy, unsigned long long* table, int n,
                                unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = ((copy[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  while (true) {
    unsigned long long old = atomicCAS(&table[slot], ~0ull, copy[i]);
    if (old == ~0ull || old == copy[i]) break;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
}
