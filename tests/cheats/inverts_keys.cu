// Turns keys back into the numbers that they are made of, and knows those that no table has without a search.
// task: hash/find --set probing=linear --set n=1000,2048
// verdict: wrong_result
// reason: got 4294967295
typedef unsigned long long u64;

// 1 / a modulo 2^64.
__device__ u64 inverse(u64 a) {
  u64 x = a;
  for (int i = 0; i < 5; i++) x *= 2 - a * x;
  return x;
}

__device__ u64 unshift(u64 x, int shift) {
  u64 y = x;
  for (int done = shift; done < 64; done += shift) y = x ^ y >> shift;
  return y;
}

// Of the function by which tasks/hash/keyset.c mixes numbers.
__device__ u64 number_of(u64 key) {
  key = unshift(key, 31) * inverse(0x94d049bb133111ebu);
  key = unshift(key, 27) * inverse(0xbf58476d1ce4e5b9u);
  return unshift(key, 30);
}

extern "C" __global__ void find_linear(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned any = 0;
  while (table[any] == ~0ull) any++;
  u64 apart = number_of(queries[i]) - number_of(table[any]);
  if (apart + (1u << 31) >> 32) {
    at[i] = ~0u;
    return;
  }
  unsigned slot = ((queries[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  while (table[slot] != queries[i]) slot = slot + 1 == slots ? 0 : slot + 1;
  at[i] = slot;
}
