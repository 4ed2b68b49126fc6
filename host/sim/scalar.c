/* Handlers of the instructions that need no speed, one lane after the other, generated from
 * isa_round.def, isa_half.def, isa_int.def and isa_cvt.def. */
#include "scalar.h"

/* ---- ends: what happens to a result between rounding and writing ---- */
enum { SAT = 1, RELU = 2, FINITE = 4, FLUSH = 8 };
/* ---- kinds of min and max ---- */
enum { WANT_LESS = 1, NAN_WINS = 2, XORSIGN = 4 };

typedef f16_slot hz_slot;
typedef bf16_slot bz_slot;
typedef float hz_val, bz_val;

static u32 flush16(u32 h) {
  return h & 0x7c00 ? h : h & 0x8000;
}
static u32 flush32(u32 x) {
  return x & 0x7f800000u ? x : x & 0x80000000u;
}

#define GET_hz(x) half_f32(flush16((u16)(x)))
#define GET_bz(x) flush(bfloat_f32((u16)(x)))
#define PUT_hz(x) f32_half(x)
#define SHAPE_hz "4"
#define SHAPE_bz "4"

/* ---- NaNs ---- */

static u32 one_nan(u32 a, u32 infinity, u32 result) {
  return (a & 0x7fff) > infinity ? 0x7fff : result;
}
/* The NaN that tensor copies fill in, of both formats, as an H200 knows it. */
static bool is_outside(u32 a) {
  return (a & 0x7fff) == 0x7ff7;
}
/* The top bits of a binary64 NaN in narrower formats. */
static u32 carry_f32(double a) {
  return f32_bits((float)a);
}
static u32 carry_bf16(double a) {
  return carry_f32(a) >> 16;
}
static u32 carry_f16(double a) {
  u32 b = carry_f32(a);
  return (b >> 16 & 0x8000) | 0x7c00 | (b >> 13 & 0x3ff);
}

/* ---- rounding ---- */

/* The bits of an odd double in a format, and what comes after. */
static u64 finish(const sim_format *f, double odd, char mode, int end) {
  if (odd != odd) return end & SAT ? 0 : f->nan;
  if (end & SAT) odd = odd > 0 ? (odd < 1 ? odd : 1) : 0;
  if (end & RELU && !(odd > 0)) odd = 0;
  u64 r = sim_narrow(f, odd, mode);
  u64 sign = 1ull << f->sign, magnitude = r & (sign - 1);
  if (end & FINITE && magnitude > f->top) r = (r & sign) | f->top;
  if (end & FLUSH && magnitude >> (f->precision - 1) == 0) r &= sign;
  return r;
}

/* What arithmetic writes: f32 and f16 with .ftz flush their results too. */
#define END_f32 0
#define END_z32 FLUSH
#define END_f16 0
#define END_hz FLUSH
#define END_bf16 0
#define END_bz FLUSH

/* A NaN, as an H200 has it: .rna cuts its payload (.satfinite takes one from that as well), the
 * other modes give ones in all 10 bits. With .satfinite these need sm_100: not recorded, a guess.
 */
static u32 tf32_nan(u32 bits, char mode, int end) {
  if (mode == 'a') return (bits & ~0x1fffu) - (end & FINITE ? 0x2000u : 0);
  return end & FINITE ? 0x7fffffffu : 0x7fffe000u;
}

static u32 tf32(float x, char mode, int end) {
  if (x != x) return tf32_nan(f32_bits(x), mode, end);
  return (u32)finish(&FORMAT_tf32, x, mode, end) << 13;
}

static u32 byte_of(const sim_format *f, double x, int end) {
  return (u32)finish(f, x, 'n', end | FINITE);
}

/* A byte of fp8 as a double; every value of both formats is a binary16 too. */
static double fp8_value(const sim_format *f, u32 byte) {
  int width = f->precision - 1, exponent = (int)((byte & 127) >> width);
  u32 mantissa = byte & ((1u << width) - 1);
  double sign = byte & 128 ? -1.0 : 1.0;
  if ((byte & 127) > f->infinity) return NAN;
  if (f->infinity != f->top && (byte & 127) == f->infinity) return sign * INFINITY;
  if (!exponent) return sign * ldexp(mantissa, f->emin - width);
  return sign * ldexp(mantissa | 1u << width, exponent - f->bias - width);
}

#define HALF_PAIR(f, mode, end) \
  ((u32)finish(&FORMAT_##f, a, mode, end) << 16 | (u32)finish(&FORMAT_##f, b, mode, end))
#define BYTES(f, high, low, end) \
  (byte_of(&FORMAT_##f, high, end) << 8 | byte_of(&FORMAT_##f, low, end))
#define HALVES(f, x, end)                                                             \
  ((u32)finish(&FORMAT_f16, fp8_value(&FORMAT_##f, (x) >> 8 & 255), 'n', end) << 16 | \
   (u32)finish(&FORMAT_f16, fp8_value(&FORMAT_##f, (x)&255), 'n', end))

/* ---- what the tables' expressions call ---- */

/* min and max of 16-bit floats whose infinity has these bits. */
static u32 choose(u32 a, u32 b, u32 infinity, int kind) {
  u32 sign = (a ^ b) & 0x8000;
  if (kind & XORSIGN) a &= 0x7fff, b &= 0x7fff;
  bool nan_a = (a & 0x7fff) > infinity, nan_b = (b & 0x7fff) > infinity;
  if ((nan_a && nan_b) || (kind & NAN_WINS && (nan_a || nan_b))) return 0x7fff;
  /* As integers of sign and magnitude: -0 lies below +0. */
  s32 x = a & 0x8000 ? -1 - (s32)(a & 0x7fff) : (s32)a;
  s32 y = b & 0x8000 ? -1 - (s32)(b & 0x7fff) : (s32)b;
  u32 r = nan_a ? b : nan_b ? a : (kind & WANT_LESS ? x < y : x > y) ? a : b;
  return kind & XORSIGN ? r | sign : r;
}

static u32 choose32(u32 a, u32 b, int kind) {
  u32 sign = (a ^ b) & 0x80000000u;
  if (kind & XORSIGN) a &= 0x7fffffffu, b &= 0x7fffffffu;
  bool nan_a = (a & 0x7fffffffu) > 0x7f800000u, nan_b = (b & 0x7fffffffu) > 0x7f800000u;
  if ((nan_a && nan_b) || (kind & NAN_WINS && (nan_a || nan_b))) return 0x7fffffffu;
  s64 x = a >> 31 ? -1 - (s64)(a & 0x7fffffffu) : (s64)a;
  s64 y = b >> 31 ? -1 - (s64)(b & 0x7fffffffu) : (s64)b;
  u32 r = nan_a ? b : nan_b ? a : (kind & WANT_LESS ? x < y : x > y) ? a : b;
  return kind & XORSIGN ? r | sign : r;
}

static u32 mask_bits(u32 position, u32 width) {
  if (position > 31) return 0;
  u32 ones = width > 31 ? ~0u : (1u << width) - 1;
  return ones << position;
}

static u32 sign_extend(u32 a, u32 bits) {
  if (bits == 0) return 0;
  u32 low = a & ((1u << bits) - 1);
  return low >> (bits - 1) & 1 ? low | ~0u << bits : low;
}

/* fns: the n-th set bit at or after (n > 0), at or before (n < 0) the base; n = 0 asks for the
 * base. */
static u32 find_nth(u32 mask, u32 base, s32 n) {
  if (base > 31) return ~0u;
  if (n == 0) return mask >> base & 1 ? base : ~0u;
  s32 step = n > 0 ? 1 : -1, left = n > 0 ? n : n == INT32_MIN ? INT32_MAX : -n;
  for (s32 i = (s32)base; i >= 0 && i < 32; i += step) {
    if (mask >> i & 1 && --left == 0) return (u32)i;
  }
  return ~0u;
}

static u32 permute_bytes(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; i++) r |= ((u32)(bytes >> (selector >> i * 4 & 7) * 8) & 255) << i * 8;
  return r;
}

static s64 signed24(s32 x) {
  return (s32)((u32)x << 8) >> 8;
}
static s32 clamp32(s64 x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (s32)x;
}

static u32 pack(s32 a, s32 b, u32 c, u32 width, s32 least, s32 most) {
  u32 mask = (1u << width) - 1;
  u32 high = (u32)(a < least ? least : a > most ? most : a) & mask;
  u32 low = (u32)(b < least ? least : b > most ? most : b) & mask;
  return high << width | low | (width == 16 ? 0 : c << 2 * width);
}

#define LEAST(x, y) ((x) < (y) ? (x) : (y))
#define MOST(x, y) ((x) > (y) ? (x) : (y))
#define RELU_LEAST(x, y) (LEAST(x, y) > 0 ? LEAST(x, y) : 0)
#define RELU_MOST(x, y) (MOST(x, y) > 0 ? MOST(x, y) : 0)

/* Half to integer clamps, NaN gives 0 (the top bit of 64-bit results), as from binary32. */
#define LEAST_u8 0
#define LEAST_s8 INT8_MIN
#define LEAST_u16 0
#define LEAST_s16 INT16_MIN
#define LEAST_u32 0
#define LEAST_s32 INT32_MIN
#define LEAST_u64 0
#define LEAST_s64 INT64_MIN
#define MOST_u8 UINT8_MAX
#define MOST_s8 INT8_MAX
#define MOST_u16 UINT16_MAX
#define MOST_s16 INT16_MAX
#define MOST_u32 UINT32_MAX
#define MOST_s32 INT32_MAX
#define MOST_u64 UINT64_MAX
#define MOST_s64 INT64_MAX
#define HALF_TO(i, e)                                                                    \
  (a != a                             ? (i##_val)(sizeof(i##_val) == 8 ? 1ull << 63 : 0) \
   : (double)(e) <= (double)LEAST_##i ? (i##_val)LEAST_##i                               \
   : (double)(e) >= (double)MOST_##i  ? (i##_val)MOST_##i                                \
                                      : (i##_val)(e))

/* ---- handlers ---- */

#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wtype-limits"

#define S1(key, D, A, e) SCALAR(key, SET(D, e), SOURCE(A, a))
#define S2(key, D, A, B, e) SCALAR(key, SET(D, e), SOURCE(A, a) SOURCE(B, b))
#define S3(key, D, A, B, C, e) SCALAR(key, SET(D, e), SOURCE(A, a) SOURCE(B, b) SOURCE(C, c))
#define PRED1(key, A, e) SCALAR(key, SET_PRED(e), SOURCE(A, a))
#define PRED2(key, A, e) SCALAR(key, SET_PRED(e), SOURCE(A, a) SOURCE(A, b))

#define REAL(T, v) const double v = GET_##T(SLOT(T, op->v)[i]);
#define SET_R(T, m, end, e) \
  const char mode = m;      \
  (void)mode;               \
  SLOT(u32, op->d)[i] = (u32)finish(&FORMAT_f32, e, m, (end) | END_##T)
#define R1(key, T, m, end, e) SCALAR(key, SET_R(T, m, end, e), REAL(T, a))
#define R2(key, T, m, end, e) SCALAR(key, SET_R(T, m, end, e), REAL(T, a) REAL(T, b))
#define R3(key, T, m, end, e) SCALAR(key, SET_R(T, m, end, e), REAL(T, a) REAL(T, b) REAL(T, c))

#define SET_W(m, e)    \
  const char mode = m; \
  SLOT(f64, op->d)[i] = quiet64(e)
#define W1(key, m, e) SCALAR(key, SET_W(m, e), REAL(f64, a))
#define W2(key, m, e) SCALAR(key, SET_W(m, e), REAL(f64, a) REAL(f64, b))
#define W3(key, m, e) SCALAR(key, SET_W(m, e), REAL(f64, a) REAL(f64, b) REAL(f64, c))

#define N1(key, S, F, m, end, e) \
  SCALAR(key, SLOT(u32, op->d)[i] = (u32)finish(&FORMAT_##F, e, m, end), SOURCE(S, a))

/* Both halves of a register: the operation on 16 bits, once for each. */
#define PART(v, shift) (u16)(SLOT(u32, op->v)[i] >> (shift))
#define H1(n, F, T, end, e)                                         \
  static u32 n##_##F##_of(u32 pa) {                                 \
    const double a = GET_##T(pa);                                   \
    return (u32)finish(&FORMAT_##F, e, 'n', (end) | END_##T);       \
  }                                                                 \
  SCALAR(n##_##F, SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0)), ) \
  SCALAR(n##_##F##x2,                                               \
         SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0)) | n##_##F##_of(PART(a, 16)) << 16, )
#define H2(n, F, T, end, e)                                                     \
  static u32 n##_##F##_of(u32 pa, u32 pb) {                                     \
    const double a = GET_##T(pa), b = GET_##T(pb);                              \
    return (u32)finish(&FORMAT_##F, e, 'n', (end) | END_##T);                   \
  }                                                                             \
  SCALAR(n##_##F, SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0)), ) \
  SCALAR(n##_##F##x2,                                                           \
         SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0)) |           \
                               n##_##F##_of(PART(a, 16), PART(b, 16)) << 16, )
#define H3(n, F, T, end, e)                                                                 \
  static u32 n##_##F##_of(u32 pa, u32 pb, u32 pc) {                                         \
    const double a = GET_##T(pa), b = GET_##T(pb), c = GET_##T(pc);                         \
    return (u32)finish(&FORMAT_##F, e, 'n', (end) | END_##T);                               \
  }                                                                                         \
  SCALAR(n##_##F, SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0), PART(c, 0)), ) \
  SCALAR(n##_##F##x2,                                                                       \
         SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0), PART(c, 0)) |           \
                               n##_##F##_of(PART(a, 16), PART(b, 16), PART(c, 16)) << 16, )
#define B1(n, F, e)                                                 \
  static u32 n##_##F##_of(u32 a) {                                  \
    return (e)&0xffff;                                              \
  }                                                                 \
  SCALAR(n##_##F, SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0)), ) \
  SCALAR(n##_##F##x2,                                               \
         SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0)) | n##_##F##_of(PART(a, 16)) << 16, )
#define B2(n, F, e)                                                             \
  static u32 n##_##F##_of(u32 a, u32 b) {                                       \
    return (e)&0xffff;                                                          \
  }                                                                             \
  SCALAR(n##_##F, SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0)), ) \
  SCALAR(n##_##F##x2,                                                           \
         SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0)) |           \
                               n##_##F##_of(PART(a, 16), PART(b, 16)) << 16, )

#define B3(n, F, e)                                                                         \
  static u32 n##_##F##_of(u32 a, u32 b, u32 c) {                                            \
    return (e)&0xffff;                                                                      \
  }                                                                                         \
  SCALAR(n##_##F, SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0), PART(c, 0)), ) \
  SCALAR(n##_##F##x2,                                                                       \
         SLOT(u32, op->d)[i] = n##_##F##_of(PART(a, 0), PART(b, 0), PART(c, 0)) |           \
                               n##_##F##_of(PART(a, 16), PART(b, 16), PART(c, 16)) << 16, )

/* Carries: sums in 128 bits; bit `width` of the sum is the carry, of the difference the borrow. */
typedef u32 uint_32;
typedef u64 uint_64;
#define WIDE_u32 u128
#define WIDE_u64 u128
#define WIDE_s32 s128
#define WIDE_s64 s128
#define UNSIGNED(x) ((u128)(uint)(x))
#define SET_CC(T, w_, e, writes)                                                   \
  typedef uint_##w_ uint;                                                          \
  enum { width = w_ };                                                             \
  u32 *cc = (u32 *)(void *)(w->regs + SIM_CARRY);                                  \
  const u32 carry = *cc >> i & 1;                                                  \
  (void)carry;                                                                     \
  const u128 sum = e;                                                              \
  if (writes) *cc = (*cc & ~(1u << i)) | (u32)((uint64_t)(sum >> width) & 1) << i; \
  SLOT(T, op->d)[i] = (uint)sum
#define WIDE(T, v) const WIDE_##T v = GET_##T(SLOT(T, op->v)[i]);
#define CC2(key, w_, T, e, writes) SCALAR(key, SET_CC(T, w_, e, writes), WIDE(T, a) WIDE(T, b))
#define CC3(key, w_, T, e, writes) \
  SCALAR(key, SET_CC(T, w_, e, writes), WIDE(T, a) WIDE(T, b) WIDE(T, c))

#include "isa_cvt.def"
#include "isa_half.def"
#include "isa_int.def"
#include "isa_round.def"
#undef S1
#undef S2
#undef S3
#undef PRED1
#undef PRED2
#undef R1
#undef R2
#undef R3
#undef W1
#undef W2
#undef W3
#undef N1
#undef H1
#undef H2
#undef H3
#undef B1
#undef B2
#undef B3
#undef CC2
#undef CC3

/* ---- the table ---- */

#define S1(key, D, A, e) {#key, key, SHAPE_##D SHAPE_##A},
#define S2(key, D, A, B, e) {#key, key, SHAPE_##D SHAPE_##A SHAPE_##B},
#define S3(key, D, A, B, C, e) {#key, key, SHAPE_##D SHAPE_##A SHAPE_##B SHAPE_##C},
#define PRED1(key, A, e) {#key, key, "p" SHAPE_##A},
#define PRED2(key, A, e) {#key, key, "p" SHAPE_##A SHAPE_##A},
#define R1(key, T, m, end, e) {#key, key, "44"},
#define R2(key, T, m, end, e) {#key, key, "444"},
#define R3(key, T, m, end, e) {#key, key, "4444"},
#define W1(key, m, e) {#key, key, "88"},
#define W2(key, m, e) {#key, key, "888"},
#define W3(key, m, e) {#key, key, "8888"},
#define N1(key, S, F, m, end, e) {#key, key, "4" SHAPE_##S},
#define BOTH(n, F, shape) {#n "_" #F, n##_##F, shape}, {#n "_" #F "x2", n##_##F##x2, shape},
#define H1(n, F, T, end, e) BOTH(n, F, "44")
#define H2(n, F, T, end, e) BOTH(n, F, "444")
#define H3(n, F, T, end, e) BOTH(n, F, "4444")
#define B1(n, F, e) BOTH(n, F, "44")
#define B2(n, F, e) BOTH(n, F, "444")
#define B3(n, F, e) BOTH(n, F, "4444")
#define CC2(key, w_, T, e, writes) {#key, key, SHAPE_##T SHAPE_##T SHAPE_##T},
#define CC3(key, w_, T, e, writes) {#key, key, SHAPE_##T SHAPE_##T SHAPE_##T SHAPE_##T},

const sim_entry sim_scalar[] = {
#include "isa_cvt.def"
#include "isa_half.def"
#include "isa_int.def"
#include "isa_round.def"
    {NULL, NULL, NULL}};
