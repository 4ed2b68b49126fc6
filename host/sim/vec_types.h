/* Lane types of the arithmetic micro-ops: how a value of each PTX type is read from and written to
 * a slot. Included once per instruction set by vec_*.c; everything is static. */
#ifndef PG_SIM_VEC_TYPES_H
#define PG_SIM_VEC_TYPES_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "exec.h"

#define PG_JOIN2(a, b) a##_##b
#define PG_JOIN(a, b) PG_JOIN2(a, b)
#define ISA_NAME(name) PG_JOIN(name, PG_ISA)

typedef uint8_t u8;
typedef int8_t s8;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned __int128 u128;
typedef __int128 s128;

/* Slots are raw memory read under several types. */
typedef u32 __attribute__((may_alias)) slot4;
typedef u64 __attribute__((may_alias)) slot8;
typedef float __attribute__((may_alias)) slotf;
typedef double __attribute__((may_alias)) slotd;

static inline u32 f32_bits(float x) {
  u32 r;
  memcpy(&r, &x, 4);
  return r;
}
static inline float bits_f32(u32 x) {
  float r;
  memcpy(&r, &x, 4);
  return r;
}
static inline u64 f64_bits(double x) {
  u64 r;
  memcpy(&r, &x, 8);
  return r;
}
static inline double bits_f64(u64 x) {
  double r;
  memcpy(&r, &x, 8);
  return r;
}

/* A GPU's binary32 arithmetic returns one NaN, 0x7fffffff. */
static inline float quiet32(float x) {
  return x != x ? bits_f32(0x7fffffffu) : x;
}
/* In binary64 the payload of a NaN survives: that of the second source, then the third, then the
 * first. An invalid operation gives 0xfff8000000000000. */
static inline double quiet64(double x) {
  return x != x ? bits_f64(f64_bits(x) | 0x0008000000000000ull) : x;
}
static inline double nan64(double b, double c, double a, double r) {
  const double invalid = bits_f64(0xfff8000000000000ull);
  const double from = b != b ? b : c != c ? c : a != a ? a : invalid;
  return r != r ? quiet64(from) : r;
}
static inline float flush(float x) {
  u32 b = f32_bits(x);
  return bits_f32(b & 0x7f800000u ? b : b & 0x80000000u);
}
static inline float clamp01(float x) { /* .sat: NaN becomes +0 */
  return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}
static inline double clamp01d(double x) {
  return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
}

static inline float half_f32(u32 h) {
  u32 sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, mantissa = h & 1023;
  if (exponent == 31) return bits_f32(sign | 0x7f800000u | mantissa << 13);
  if (exponent) return bits_f32(sign | (exponent + 112) << 23 | mantissa << 13);
  float tiny = (float)mantissa * 0x1p-24f;
  return bits_f32(sign | f32_bits(tiny));
}

/* binary32 -> binary16, nearest even; NaN is canonical. */
static inline u32 f32_half(float x) {
  u32 b = f32_bits(x), sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u; /* rounds to infinity */
  if (magnitude < 0x38800000u) {                       /* denormal result: let the adder round */
    return sign | (f32_bits(bits_f32(magnitude) + 0.5f) - f32_bits(0.5f));
  }
  u32 odd = magnitude >> 13 & 1;
  return sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

static inline float bfloat_f32(u32 h) {
  return bits_f32(h << 16);
}
static inline u32 f32_bfloat(float x) {
  u32 b = f32_bits(x);
  if ((b & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
  return (b + 0x7fffu + (b >> 16 & 1)) >> 16;
}

static const u32 LANE_BIT[SIM_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};
static const u64 WIDE_BIT[SIM_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

/* For each type T: T_slot what lies in memory, T_val the value, GET_T and PUT_T, SHAPE_T the slot's
 * letter. */
typedef slot4 u8_slot, s8_slot, u16_slot, s16_slot, u32_slot, s32_slot, f16_slot, bf16_slot;
typedef slot8 u64_slot, s64_slot;
typedef slotf f32_slot, z32_slot, c32_slot, zc32_slot, raw32_slot;
typedef slotd f64_slot, c64_slot, raw64_slot;
typedef u8 u8_val;
typedef s8 s8_val;
typedef u16 u16_val;
typedef s16 s16_val;
typedef u32 u32_val;
typedef s32 s32_val;
typedef u64 u64_val;
typedef s64 s64_val;
typedef float f32_val, z32_val, c32_val, zc32_val, raw32_val, f16_val, bf16_val;
typedef double f64_val, c64_val, raw64_val;

#define GET_u8(x) ((u8)(x))
#define GET_s8(x) ((s8)(x))
#define GET_u16(x) ((u16)(x))
#define GET_s16(x) ((s16)(x))
#define GET_u32(x) (x)
#define GET_s32(x) ((s32)(x))
#define GET_u64(x) (x)
#define GET_s64(x) ((s64)(x))
#define GET_f32(x) (x)
#define GET_raw32(x) (x)
#define GET_c32(x) (x)
#define GET_z32(x) flush(x)
#define GET_zc32(x) flush(x)
#define GET_f64(x) (x)
#define GET_c64(x) (x)
#define GET_raw64(x) (x)
#define GET_f16(x) half_f32((u16)(x))
#define GET_bf16(x) bfloat_f32((u16)(x))

/* Narrow integers are extended to the slot: a destination register may be wider than the type. */
#define PUT_u8(x) ((u32)(u8)(x))
#define PUT_s8(x) ((u32)(s32)(s8)(x))
#define PUT_u16(x) ((u32)(u16)(x))
#define PUT_s16(x) ((u32)(s32)(s16)(x))
#define PUT_u32(x) ((u32)(x))
#define PUT_s32(x) ((u32)(x))
#define PUT_u64(x) ((u64)(x))
#define PUT_s64(x) ((u64)(x))
#define PUT_f32(x) quiet32(x)
#define PUT_raw32(x) (x)
#define PUT_z32(x) flush(quiet32(x))
#define PUT_c32(x) clamp01(x)
#define PUT_zc32(x) flush(clamp01(x))
#define PUT_f64(x) (x)
#define PUT_c64(x) clamp01d(x)
#define PUT_raw64(x) (x)
#define PUT_f16(x) f32_half(x)
#define PUT_bf16(x) f32_bfloat(x)

#define SHAPE_u8 "4"
#define SHAPE_s8 "4"
#define SHAPE_u16 "4"
#define SHAPE_s16 "4"
#define SHAPE_u32 "4"
#define SHAPE_s32 "4"
#define SHAPE_u64 "8"
#define SHAPE_s64 "8"
#define SHAPE_f32 "4"
#define SHAPE_raw32 "4"
#define SHAPE_z32 "4"
#define SHAPE_c32 "4"
#define SHAPE_zc32 "4"
#define SHAPE_f64 "8"
#define SHAPE_c64 "8"
#define SHAPE_raw64 "8"
#define SHAPE_f16 "4"
#define SHAPE_bf16 "4"

#endif
