/* Handlers of the arithmetic micro-ops, generated from isa_alu.def: full-mask loops that the
 * compiler vectorises, and a masked path that computes all lanes and keeps the active ones. */
#include "vec_types.h"

/* ---- what the table's expressions call ---- */

static inline u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  u32 r = 0;
  for (u32 i = 0; i < 8; i++) {
    u32 term = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    r |= table >> i & 1 ? term : 0;
  }
  return r;
}

static inline u32 permute(u32 a, u32 b, u32 selector) {
  u64 bytes = (u64)b << 32 | a;
  u32 r = 0;
  for (u32 i = 0; i < 4; i++) {
    u32 s = selector >> i * 4;
    u32 byte = (u32)(bytes >> (s & 7) * 8) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << i * 8;
  }
  return r;
}

static inline u64 low_mask(u32 bits) {
  return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

/* Position and length of a field: 32-bit instructions look at 8 bits of each, 64-bit ones, which a
 * GPU makes of several, at all. More than the width says no more than the width. */
static inline u32 within(u32 x, u32 width) {
  if (width == 32) x &= 255;
  return x < 64 ? x : 64;
}

static inline u64 extract(u64 a, u32 position, u32 length, u32 width) {
  position = within(position, width);
  length = within(length, width);
  u64 shifted = position < width ? a >> position : 0;
  return shifted & low_mask(length);
}

/* The sign is the field's top bit, or the operand's when the field runs past it (PTX ISA, bfe). */
static inline u64 extract_signed(u64 a, u32 position, u32 length, u32 width) {
  position = within(position, width);
  length = within(length, width);
  if (length == 0) return 0;
  u32 top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
  u64 field = extract(a, position, length, width);
  u64 sign = a >> top & 1;
  u32 have = position < width ? (length < width - position ? length : width - position) : 0;
  return sign ? field | ~low_mask(have) : field;
}

static inline u64 insert(u64 a, u64 b, u32 position, u32 length, u32 width) {
  position = within(position, width);
  length = within(length, width);
  if (position >= width) return b;
  u64 mask = low_mask(length) << position;
  return (b & ~mask) | (a << position & mask);
}

static inline u32 reverse32(u32 x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}

static inline u32 top_bit(u64 x) {
  return x ? 63 - (u32)__builtin_clzll(x) : ~0u;
}

static inline s64 sign24(s32 x) {
  return (s32)((u32)x << 8) >> 8;
}

static inline s32 saturate32(s64 x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (s32)x;
}

#define DOT4(A, B)                                                   \
  ((u32)((s32)(A)a * (B)b) + (u32)((s32)(A)(a >> 8) * (B)(b >> 8)) + \
   (u32)((s32)(A)(a >> 16) * (B)(b >> 16)) + (u32)((s32)(A)(a >> 24) * (B)(b >> 24)))

/* div.approx multiplies by a reciprocal that is 0 for divisors from 2^126 on. */
static inline float quotient(float a, float b) {
  const float size = __builtin_fabsf(b);
  return size > 0x1p126f && size < INFINITY ? a * __builtin_copysignf(0.0f, b) : a / b;
}

/* What the approximations that start a binary64 division see and give: the high word, without
 * denormals, and the NaN of binary32. */
static inline double high_word(double x) {
  u64 bits = f64_bits(x) & 0xffffffff00000000ull;
  if (!(bits & 0x7ff0000000000000ull)) bits &= 0x8000000000000000ull;
  if ((bits & 0x7fffffffffffffffull) > 0x7ff0000000000000ull) bits = 0x7fffffff00000000ull;
  return bits_f64(bits);
}

/* minNum and maxNum with -0 below +0. */
#define LESS(a, b)                                           \
  ((a) != (a)                                          ? (b) \
   : (b) != (b)                                        ? (a) \
   : (a) < (b) || ((a) == (b) && __builtin_signbit(a)) ? (a) \
                                                       : (b))
#define MORE(a, b)                                            \
  ((a) != (a)                                           ? (b) \
   : (b) != (b)                                         ? (a) \
   : (a) > (b) || ((a) == (b) && !__builtin_signbit(a)) ? (a) \
                                                        : (b))

#define MIN_u8 0
#define MIN_s8 INT8_MIN
#define MIN_u16 0
#define MIN_s16 INT16_MIN
#define MIN_u32 0
#define MIN_s32 INT32_MIN
#define MIN_u64 0
#define MIN_s64 INT64_MIN
#define MAX_u8 UINT8_MAX
#define MAX_s8 INT8_MAX
#define MAX_u16 UINT16_MAX
#define MAX_s16 INT16_MAX
#define MAX_u32 UINT32_MAX
#define MAX_s32 INT32_MAX
#define MAX_u64 UINT64_MAX
#define MAX_s64 INT64_MAX
#define SATURATE(d, a)                            \
  ((s128)(a) < (s128)MIN_##d   ? (d##_val)MIN_##d \
   : (s128)(a) > (s128)MAX_##d ? (d##_val)MAX_##d \
                               : (d##_val)(a))

/* Float to integer clamps; NaN gives 0, but the top bit of a 64-bit result, and of any from f64. */
#define NAN_OF_u8(f) (sizeof(f) == 8 ? 0x80 : 0)
#define NAN_OF_s8(f) (sizeof(f) == 8 ? INT8_MIN : 0)
#define NAN_OF_u16(f) (sizeof(f) == 8 ? 0x8000 : 0)
#define NAN_OF_s16(f) (sizeof(f) == 8 ? INT16_MIN : 0)
#define NAN_OF_u32(f) (sizeof(f) == 8 ? 0x80000000u : 0)
#define NAN_OF_s32(f) (sizeof(f) == 8 ? INT32_MIN : 0)
#define NAN_OF_u64(f) 0x8000000000000000ull
#define NAN_OF_s64(f) INT64_MIN
#define TO_INT(i, f, e)                               \
  ((a) != (a)                ? (i##_val)NAN_OF_##i(a) \
   : (e) <= (f##_val)MIN_##i ? (i##_val)MIN_##i       \
   : (e) >= (f##_val)MAX_##i ? (i##_val)MAX_##i       \
                             : (i##_val)(e))

/* Directed rounding: the nearest value, stepped when it lies on the wrong side of the exact one. */
static inline bool wrong_side(int order, bool negative, char mode) {
  /* order: sign of (rounded - exact) */
  return mode == 'z' ? (negative ? order < 0 : order > 0) : mode == 'm' ? order > 0 : order < 0;
}

static float directed32(s128 x, char mode) {
  float r = (float)x;
  int order = (s128)r > x ? 1 : (s128)r < x ? -1 : 0;
  if (wrong_side(order, x < 0, mode)) r = nextafterf(r, order > 0 ? -INFINITY : INFINITY);
  return r;
}

static double directed64(s128 x, char mode) {
  double r = (double)x;
  int order = (s128)r > x ? 1 : (s128)r < x ? -1 : 0;
  if (wrong_side(order, x < 0, mode)) r = nextafter(r, order > 0 ? -INFINITY : INFINITY);
  return r;
}

static float narrow(double x, char mode) {
  float r = (float)x;
  int order = (double)r > x ? 1 : (double)r < x ? -1 : 0;
  if (wrong_side(order, x < 0, mode)) r = nextafterf(r, order > 0 ? -INFINITY : INFINITY);
  return r;
}

/* ---- handlers ---- */

#define HANDLER(key) static const sim_op *key(sim_warp *w, const sim_op *op)
#define SOURCE(T, v) const T##_slot *p##v = (const T##_slot *)(const void *)(w->regs + op->v)
#define VALUE(T, v) const T##_val v = GET_##T(p##v[i])

/* Slots are equal or disjoint, so iterations are independent. */
#define LANES_LOOP(D, VALUES, e)                                       \
  D##_slot *d = (D##_slot *)(void *)(w->regs + op->d);                 \
  if (w->mask == SIM_ALL) {                                            \
    _Pragma("GCC ivdep") for (int i = 0; i < SIM_LANES; i++) {         \
      VALUES d[i] = PUT_##D((D##_val)(e));                             \
    }                                                                  \
  } else {                                                             \
    const u32 mask = w->mask;                                          \
    _Pragma("GCC ivdep") for (int i = 0; i < SIM_LANES; i++) {         \
      VALUES d[i] = mask & LANE_BIT[i] ? PUT_##D((D##_val)(e)) : d[i]; \
    }                                                                  \
  }                                                                    \
  return op + 1;

#define A1(key, D, A, e)           \
  HANDLER(key) {                   \
    SOURCE(A, a);                  \
    LANES_LOOP(D, VALUE(A, a);, e) \
  }
#define A2(key, D, A, B, e)                     \
  HANDLER(key) {                                \
    SOURCE(A, a);                               \
    SOURCE(B, b);                               \
    LANES_LOOP(D, VALUE(A, a); VALUE(B, b);, e) \
  }
#define A3(key, D, A, B, C, e)                               \
  HANDLER(key) {                                             \
    SOURCE(A, a);                                            \
    SOURCE(B, b);                                            \
    SOURCE(C, c);                                            \
    LANES_LOOP(D, VALUE(A, a); VALUE(B, b); VALUE(C, c);, e) \
  }
#define A4(key, D, A, B, C, X, ex)                                                              \
  HANDLER(key) {                                                                                \
    SOURCE(A, a);                                                                               \
    SOURCE(B, b);                                                                               \
    SOURCE(C, c);                                                                               \
    SOURCE(X, e);                                                                               \
    LANES_LOOP(D, VALUE(A, a); VALUE(B, b); VALUE(C, c); const X##_val x = GET_##X(pe[i]);, ex) \
  }

static inline const sim_op *set_predicate(sim_warp *w, const sim_op *op, u32 value) {
  slot4 *d = (slot4 *)(void *)(w->regs + op->d);
  *d = (*d & ~w->mask) | (value & w->mask);
  return op + 1;
}

/* The lanes for which e holds; the type of the sum is as wide as the slots, as vectors want it. */
#define LANES_WHERE(T, VALUES, e)           \
  u32 r = 0;                                \
  if (sizeof(T##_slot) == 8) {              \
    u64 wide = 0;                           \
    for (int i = 0; i < SIM_LANES; i++) {   \
      VALUES wide |= (e) ? WIDE_BIT[i] : 0; \
    }                                       \
    r = (u32)wide;                          \
  } else {                                  \
    for (int i = 0; i < SIM_LANES; i++) {   \
      VALUES r |= (e) ? LANE_BIT[i] : 0;    \
    }                                       \
  }                                         \
  return set_predicate(w, op, r);

#define CMP(key, T, e)                           \
  HANDLER(key) {                                 \
    SOURCE(T, a);                                \
    SOURCE(T, b);                                \
    LANES_WHERE(T, VALUE(T, a); VALUE(T, b);, e) \
  }
#define T1(key, T, e)               \
  HANDLER(key) {                    \
    SOURCE(T, a);                   \
    LANES_WHERE(T, VALUE(T, a);, e) \
  }
#define P1(key, e)                                                 \
  HANDLER(key) {                                                   \
    const u32 a = *(const slot4 *)(const void *)(w->regs + op->a); \
    return set_predicate(w, op, e);                                \
  }
#define P2(key, e)                                                 \
  HANDLER(key) {                                                   \
    const u32 a = *(const slot4 *)(const void *)(w->regs + op->a); \
    const u32 b = *(const slot4 *)(const void *)(w->regs + op->b); \
    return set_predicate(w, op, e);                                \
  }
#define SEL(key, T)                                                   \
  HANDLER(key) {                                                      \
    SOURCE(T, a);                                                     \
    SOURCE(T, b);                                                     \
    const u32 p = *(const slot4 *)(const void *)(w->regs + op->c);    \
    LANES_LOOP(T, VALUE(T, a); VALUE(T, b);, p & LANE_BIT[i] ? a : b) \
  }

#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wtype-limits"
#include "isa_alu.def"
#undef A1
#undef A2
#undef A3
#undef A4
#undef CMP
#undef T1
#undef P1
#undef P2
#undef SEL

/* ---- the table ---- */

#define A1(key, D, A, e) {#key, key, SHAPE_##D SHAPE_##A},
#define A2(key, D, A, B, e) {#key, key, SHAPE_##D SHAPE_##A SHAPE_##B},
#define A3(key, D, A, B, C, e) {#key, key, SHAPE_##D SHAPE_##A SHAPE_##B SHAPE_##C},
#define A4(key, D, A, B, C, X, e) {#key, key, SHAPE_##D SHAPE_##A SHAPE_##B SHAPE_##C SHAPE_##X},
#define CMP(key, T, e) {#key, key, "p" SHAPE_##T SHAPE_##T},
#define T1(key, T, e) {#key, key, "p" SHAPE_##T},
#define P1(key, e) {#key, key, "pp"},
#define P2(key, e) {#key, key, "ppp"},
#define SEL(key, T) {#key, key, SHAPE_##T SHAPE_##T SHAPE_##T "p"},

const sim_entry ISA_NAME(sim_alu)[] = {
#include "isa_alu.def"
    {NULL, NULL, NULL}};
