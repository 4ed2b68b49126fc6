/* Philox against Random123's published known-answer vectors, and what is derived from it against
 * its definition in rng.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "rng.h"

static void philox_gives_the_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } vectors[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (int i = 0; i < 3; i++) {
    uint32_t out[4];
    pg_philox4x32(vectors[i].counter, vectors[i].key, out);
    assert_memory_equal(out, vectors[i].out, sizeof out);
  }
}

/* The third vector, read through seed, stream and index. */
static void seed_is_the_key_and_stream_the_upper_counter(void **state) {
  (void)state;
  const uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e, block = 0x05a308d3243f6a88;
  const uint32_t counter[4] = {0x243f6a88, 0x05a308d3, 0x13198a2e, 0x03707344};
  const uint32_t key[2] = {0xa4093822, 0x299f31d0};
  uint32_t out[4], words[4];
  pg_philox4x32(counter, key, out);
  pg_rng_block(seed, stream, block, words);
  assert_memory_equal(words, out, sizeof out);
  for (uint64_t lane = 0; lane < 4; lane++)
    assert_int_equal(pg_rng_u32(seed, stream, 4 * block + lane), out[lane]);
  assert_true(pg_rng_u64(seed, stream, 2 * block) == (out[0] | (uint64_t)out[1] << 32));
  assert_true(pg_rng_u64(seed, stream, 2 * block + 1) == (out[2] | (uint64_t)out[3] << 32));
}

static void blocks_follow_one_another(void **state) {
  (void)state;
  uint32_t words[40];
  pg_rng_blocks(5, 6, 7, 10, words);
  for (uint64_t i = 0; i < 40; i++) assert_int_equal(words[i], pg_rng_u32(5, 6, 28 + i));
}

static void uniforms_are_the_top_bits(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 10000; i++) {
    float f = pg_rng_f32(1, 2, i);
    double d = pg_rng_f64(1, 2, i);
    assert_true(f >= 0 && f < 1 && d >= 0 && d < 1);
    assert_true(ldexp(f, 24) == pg_rng_u32(1, 2, i) >> 8);
    assert_true(ldexp(d, 53) == (double)(pg_rng_u64(1, 2, i) >> 11));
  }
}

static void normals_are_box_muller_of_two_words(void **state) {
  (void)state;
  for (uint64_t i = 0; i < 1000; i++) {
    double u = ldexp((double)((pg_rng_u64(3, 4, 2 * i) >> 11) + 1), -53);
    double v = ldexp((double)(pg_rng_u64(3, 4, 2 * i + 1) >> 11), -53);
    double want = sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
    assert_true(pg_rng_normal(3, 4, i) == want);
  }
}

/* Sorted by the normal's distribution function, the values are uniform: Kolmogorov-Smirnov, one in
 * a thousand would lie above 1.95 / sqrt(n). The seed is fixed, so this does not flicker. */
static void normals_have_the_normal_distribution(void **state) {
  (void)state;
  enum { N = 20000, BINS = 1000 };
  static int bins[BINS];
  for (uint64_t i = 0; i < N; i++) {
    double p = 0.5 * erfc(-pg_rng_normal(9, 0, i) / sqrt(2));
    bins[(int)(p * BINS)]++;
  }
  double seen = 0, distance = 0;
  for (int i = 0; i < BINS; i++) {
    seen += bins[i];
    distance = fmax(distance, fabs(seen / N - (double)(i + 1) / BINS));
  }
  assert_true(distance < 1.95 / sqrt(N));
}

/* Lemire's method as published: reject while the low half of the product is below 2^64 mod bound.
 */
static uint64_t lemire(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound,
                       int *rejected) {
  for (uint64_t try = 0;; try++) {
    uint64_t from = try ? stream + 0x8000000000000000u + try : stream
      ;
    unsigned __int128 m = (unsigned __int128)pg_rng_u64(seed, from, index) * bound;
    if ((uint64_t)m >= (UINT64_MAX - bound + 1) % bound) return (uint64_t)(m >> 64);
    ++*rejected;
  }
}

static void integers_below_a_bound_follow_lemire(void **state) {
  (void)state;
  const uint64_t bounds[] = {1,         2, 3, 6, 1000, UINT64_C(1) << 32, (UINT64_C(1) << 63) + 1,
                             UINT64_MAX};
  int rejected = 0;
  for (int b = 0; b < 8; b++) {
    for (uint64_t i = 0; i < 1000; i++) {
      uint64_t got = pg_rng_below(11, 12, i, bounds[b]);
      assert_true(got < bounds[b]);
      assert_true(got == lemire(11, 12, i, bounds[b], &rejected));
    }
  }
  assert_in_range(rejected, 900, 1100); /* 2^63 + 1 rejects nearly half of the draws, some twice */
}

/* Chi-square with 5 degrees of freedom: 20.5 is passed by one in a thousand. */
static void a_die_is_fair(void **state) {
  (void)state;
  int faces[6] = {0};
  double chi2 = 0;
  for (uint64_t i = 0; i < 60000; i++) faces[pg_rng_below(13, 0, i, 6)]++;
  for (int f = 0; f < 6; f++) chi2 += (faces[f] - 10000.0) * (faces[f] - 10000.0) / 10000;
  assert_true(chi2 < 20.5 && chi2 > 0.1);
}

static void streams_and_seeds_differ(void **state) {
  (void)state;
  int equal = 0;
  for (uint64_t i = 0; i < 1000; i++) {
    equal += pg_rng_u32(1, 0, i) == pg_rng_u32(1, 1, i);
    equal += pg_rng_u32(1, 0, i) == pg_rng_u32(2, 0, i);
    equal += pg_rng_u32(1, 0, i) == pg_rng_u32(1, UINT64_C(1) << 32, i);
  }
  assert_int_equal(equal, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_known_answers),
      cmocka_unit_test(seed_is_the_key_and_stream_the_upper_counter),
      cmocka_unit_test(blocks_follow_one_another),
      cmocka_unit_test(uniforms_are_the_top_bits),
      cmocka_unit_test(normals_are_box_muller_of_two_words),
      cmocka_unit_test(normals_have_the_normal_distribution),
      cmocka_unit_test(integers_below_a_bound_follow_lemire),
      cmocka_unit_test(a_die_is_fair),
      cmocka_unit_test(streams_and_seeds_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
