/* What memory micro-ops do with the addresses of 32 lanes: are they in range, in a row, all the
 * same; and loads through them. AVX-512 mask registers where compiled for them, plain loops
 * elsewhere. */
#ifndef PG_SIM_VEC_LANES_H
#define PG_SIM_VEC_LANES_H

#include "vec_types.h"

#define EACH_LANE(i, m) \
  for (u32 rest_ = (m), i; rest_ && (i = (u32)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

/* Addresses as the kernel sees them; those of inactive lanes mean nothing. */
static inline void lane_addresses(const sim_warp *w, const sim_op *op, u64 address[SIM_LANES]) {
  const u64 offset = op->imm;
  if (op->narrow == 0) {
    const slot8 *base = (const slot8 *)(const void *)(w->regs + op->a);
    for (int i = 0; i < SIM_LANES; i++) address[i] = base[i] + offset;
  } else if (op->narrow == 1) {
    const slot4 *base = (const slot4 *)(const void *)(w->regs + op->a);
    for (int i = 0; i < SIM_LANES; i++) address[i] = (u64)base[i] + offset;
  } else {
    for (int i = 0; i < SIM_LANES; i++) address[i] = offset;
  }
}

#ifdef __AVX512F__
#include <immintrin.h>

#define EIGHT(address, i) _mm512_load_si512((address) + 8 * (i))

/* The mask of lanes that are not in [low, low + size) or that have one of the bits `odd`. */
static inline u32 lanes_outside(const u64 *address, u64 low, u64 size, u64 odd) {
  const __m512i vlow = _mm512_set1_epi64((s64)low), vsize = _mm512_set1_epi64((s64)size);
  const __m512i vodd = _mm512_set1_epi64((s64)odd);
  u32 bad = 0;
  for (int i = 0; i < 4; i++) {
    __m512i a = EIGHT(address, i);
    __mmask8 far = _mm512_cmpge_epu64_mask(_mm512_sub_epi64(a, vlow), vsize);
    bad |= (u32)(u8)(far | _mm512_test_epi64_mask(a, vodd)) << 8 * i;
  }
  return bad;
}

/* Lane i's address is that of lane 0 plus i * step. */
static inline bool lanes_step(const u64 *address, u64 step) {
  if (address[31] != address[0] + 31 * step) return false;
  const __m512i ramp = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  __m512i want = _mm512_add_epi64(_mm512_set1_epi64((s64)address[0]),
                                  _mm512_mullo_epi64(ramp, _mm512_set1_epi64((s64)step)));
  const __m512i next = _mm512_set1_epi64((s64)(8 * step));
  u32 differ = 0;
  for (int i = 0; i < 4; i++, want = _mm512_add_epi64(want, next))
    differ |= _mm512_cmpneq_epi64_mask(EIGHT(address, i), want);
  return differ == 0;
}

/* The mask of lanes whose next lane's address is theirs plus `step`. One more address is read. */
static inline u32 lanes_followed(const u64 *address, u64 step) {
  const __m512i by = _mm512_set1_epi64((s64)step);
  u32 followed = 0;
  for (int i = 0; i < 4; i++) {
    __m512i next = _mm512_loadu_si512(address + 8 * i + 1);
    followed |= (u32)(u8)_mm512_cmpeq_epi64_mask(_mm512_add_epi64(EIGHT(address, i), by), next)
                << 8 * i;
  }
  return followed & 0x7fffffffu;
}

static inline void gather4(slot4 *d, const u64 *address, u64 offset, u32 mask) {
  for (int i = 0; i < 4; i += 2) {
    const __m512i o = _mm512_set1_epi64((s64)offset);
    __m512i old = _mm512_load_si512(d + 8 * i);
    __m256i low =
        _mm512_mask_i64gather_epi32(_mm512_castsi512_si256(old), (__mmask8)(mask >> 8 * i),
                                    _mm512_add_epi64(EIGHT(address, i), o), NULL, 1);
    __m256i high = _mm512_mask_i64gather_epi32(_mm512_extracti64x4_epi64(old, 1),
                                               (__mmask8)(mask >> (8 * i + 8)),
                                               _mm512_add_epi64(EIGHT(address, i + 1), o), NULL, 1);
    _mm512_store_si512(d + 8 * i, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  }
}

static inline void gather8(slot8 *d, const u64 *address, u64 offset, u32 mask) {
  for (int i = 0; i < 4; i++) {
    __m512i at = _mm512_add_epi64(EIGHT(address, i), _mm512_set1_epi64((s64)offset));
    __m512i old = _mm512_load_si512(d + 8 * i);
    _mm512_store_si512(d + 8 * i,
                       _mm512_mask_i64gather_epi64(old, (__mmask8)(mask >> 8 * i), at, NULL, 1));
  }
}

#else

static inline u32 lanes_outside(const u64 *address, u64 low, u64 size, u64 odd) {
  u32 bad = 0;
  for (int i = 0; i < SIM_LANES; i++) {
    bool wrong = address[i] - low >= size || address[i] & odd;
    bad |= wrong ? LANE_BIT[i] : 0;
  }
  return bad;
}

static inline bool lanes_step(const u64 *address, u64 step) {
  u64 difference = address[31] ^ (address[0] + 31 * step);
  if (difference) return false;
  for (int i = 0; i < SIM_LANES; i++) difference |= address[i] ^ (address[0] + (u64)i * step);
  return difference == 0;
}

static inline u32 lanes_followed(const u64 *address, u64 step) {
  u32 followed = 0;
  for (int i = 0; i + 1 < SIM_LANES; i++)
    followed |= address[i] + step == address[i + 1] ? LANE_BIT[i] : 0;
  return followed;
}

static inline void gather4(slot4 *d, const u64 *address, u64 offset, u32 mask) {
  EACH_LANE(i, mask) d[i] = *(const slot4 *)(uintptr_t)(address[i] + offset);
}

static inline void gather8(slot8 *d, const u64 *address, u64 offset, u32 mask) {
  EACH_LANE(i, mask) d[i] = *(const slot8 *)(uintptr_t)(address[i] + offset);
}
#endif

#endif
