/* Philox4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1,
 * 2, 3", SC11): any element by index. Integers and uniforms are bit-identical on host and device.
 * Owns nothing. */
#ifndef PG_RNG_H
#define PG_RNG_H

#include <stddef.h>
#include <stdint.h>

void pg_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* The four words of block `block`: counter words block low, high, stream low, high; key seed low,
 * high. */
void pg_rng_block(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4]);
/* Words of `count` blocks one after the other. */
void pg_rng_blocks(uint64_t seed, uint64_t stream, uint64_t block, size_t count, uint32_t *out);

/* Word `index` of the sequence (seed, stream): lane index % 4 of block index / 4. */
uint32_t pg_rng_u32(uint64_t seed, uint64_t stream, uint64_t index);
/* Words 2 index (the low half) and 2 index + 1. */
uint64_t pg_rng_u64(uint64_t seed, uint64_t stream, uint64_t index);
/* Uniform in [0, 1): 24 (53) top bits times 2^-24 (2^-53), exact. */
float pg_rng_f32(uint64_t seed, uint64_t stream, uint64_t index);
double pg_rng_f64(uint64_t seed, uint64_t stream, uint64_t index);
/* Standard normal by Box-Muller in binary64 from u64 words 2 index and 2 index + 1. */
double pg_rng_normal(uint64_t seed, uint64_t stream, uint64_t index);
/* Unbiased integer in [0, bound), bound > 0 (Lemire's method; the try-th rejection
 * draws the same index from stream + 2^63 + try, try = 1, 2, ...). */
uint64_t pg_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound);

#endif
