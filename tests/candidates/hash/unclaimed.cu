// Wrong: a slot that is seen empty is not claimed, so that others may take it, too.
typedef unsigned long long u64;

extern "C" __global__ void insert_linear(const u64* keys, u64* table, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = __umulhi((unsigned)(keys[i] * 0x9e3779b97f4a7c15ull >> 32), slots);
  while (table[slot] != ~0ull && table[slot] != keys[i]) slot = slot + 1 == slots ? 0 : slot + 1;
  table[slot] = keys[i];
}
