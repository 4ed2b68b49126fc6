// Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): four random
// words of a counter and a key, so that any element can be made by itself.
#pragma once

template <int ROUNDS>
__device__ inline uint4 philox(unsigned counter, unsigned long long key) {
  unsigned k0 = static_cast<unsigned>(key), k1 = static_cast<unsigned>(key >> 32);
  uint4 x = make_uint4(counter, 0, 0, 0);
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    unsigned long long p0 = 0xd2511f53ull * x.x, p1 = 0xcd9e8d57ull * x.z;
    x = make_uint4(static_cast<unsigned>(p1 >> 32) ^ x.y ^ k0, static_cast<unsigned>(p1),
                   static_cast<unsigned>(p0 >> 32) ^ x.w ^ k1, static_cast<unsigned>(p0));
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  return x;
}
