/* Philox4x32-10. Constants from Salmon et al., SC11, table 2 and the text around it.
 * Counter words: block index low, high, stream low, high. Key words: seed low, high. */
#include "rng.h"

#include <math.h>

enum { ROUNDS = 10 };

static const uint32_t MULTIPLIER_0 = 0xD2511F53, MULTIPLIER_1 = 0xCD9E8D57;
static const uint32_t WEYL_0 = 0x9E3779B9, WEYL_1 = 0xBB67AE85;

void pg_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t p0 = (uint64_t)MULTIPLIER_0 * x0, p1 = (uint64_t)MULTIPLIER_1 * x2;
    x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
    x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
    x1 = (uint32_t)p1;
    x3 = (uint32_t)p0;
    k0 += WEYL_0;
    k1 += WEYL_1;
  }
  out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

void pg_rng_block(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4]) {
  const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream,
                               (uint32_t)(stream >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  pg_philox4x32(counter, key, out);
}

void pg_rng_blocks(uint64_t seed, uint64_t stream, uint64_t block, size_t count, uint32_t *out) {
  for (size_t i = 0; i < count; i++) pg_rng_block(seed, stream, block + i, out + 4 * i);
}

uint32_t pg_rng_u32(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t words[4];
  pg_rng_block(seed, stream, index / 4, words);
  return words[index % 4];
}

uint64_t pg_rng_u64(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t words[4];
  pg_rng_block(seed, stream, index / 2, words);
  const uint32_t *pair = words + index % 2 * 2;
  return pair[0] | (uint64_t)pair[1] << 32;
}

float pg_rng_f32(uint64_t seed, uint64_t stream, uint64_t index) {
  return (float)(pg_rng_u32(seed, stream, index) >> 8) * 0x1p-24f;
}

double pg_rng_f64(uint64_t seed, uint64_t stream, uint64_t index) {
  return (double)(pg_rng_u64(seed, stream, index) >> 11) * 0x1p-53;
}

double pg_rng_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t w[4];
  pg_rng_block(seed, stream, index, w); /* u64 words 2 index and 2 index + 1 are one block */
  /* The radius takes (0, 1], so that its logarithm is finite. */
  double radius = (double)(((w[0] | (uint64_t)w[1] << 32) >> 11) + 1) * 0x1p-53;
  double angle = (double)((w[2] | (uint64_t)w[3] << 32) >> 11) * 0x1p-53;
  return sqrt(-2 * log(radius)) * cos(2 * 3.14159265358979323846 * angle);
}

uint64_t pg_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound) {
  uint64_t word = pg_rng_u64(seed, stream, index);
  unsigned __int128 product = (unsigned __int128)word * bound;
  if ((uint64_t)product >= bound) return (uint64_t)(product >> 64); /* nearly always */
  uint64_t threshold = -bound % bound; /* 2^64 mod bound: so many low halves are one too many */
  for (uint64_t try = 1; (uint64_t)product < threshold; try++) {
    word = pg_rng_u64(seed, stream + (UINT64_C(1) << 63) + try, index);
    product = (unsigned __int128)word * bound;
  }
  return (uint64_t)(product >> 64);
}
