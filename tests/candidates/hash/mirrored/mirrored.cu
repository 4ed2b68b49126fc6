// A table in the candidate's own layout: pairs of words, from the last slot to the first.
typedef unsigned long long u64;

extern "C" __global__ void put(const u64* keys, u64* own, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = __umulhi((unsigned)(keys[i] * 0x9e3779b97f4a7c15ull >> 32), slots);
  for (;;) {
    u64 there = atomicCAS(&own[2 * (slots - 1 - slot)], ~0ull, keys[i]);
    if (there == ~0ull || there == keys[i]) return;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
}

extern "C" __global__ void bring(const u64* own, u64* table, unsigned slots) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < slots) table[i] = own[2 * (slots - 1 - i)];
}
