/* Correct rounding in every mode and to every float format, without touching the processor's
 * rounding mode. A result is first made "odd": a double whose last bit says that the exact value
 * goes on. Rounding that to 51 bits or fewer is the same as rounding the exact value. */
#ifndef PG_SIM_EXACT_H
#define PG_SIM_EXACT_H

#include "vec_types.h"

#ifdef __aarch64__
typedef long double quad;
#else
typedef __float128 quad;
#endif

/* Modes: 'n' nearest even, 'a' nearest, ties away, 'z' toward zero, 'm' down, 'p' up. */
typedef struct sim_format {
  int precision, emin, bias; /* bits with the leading one, exponent of the least normal */
  u64 top;                   /* bits of the largest finite value */
  u64 infinity;              /* what overflow to nearest gives */
  u64 nan;
  int sign; /* its bit */
} sim_format;

static const sim_format FORMAT_f32 = {24, -126, 127, 0x7f7fffff, 0x7f800000, 0x7fffffff, 31};
static const sim_format FORMAT_f16 = {11, -14, 15, 0x7bff, 0x7c00, 0x7fff, 15};
static const sim_format FORMAT_bf16 = {8, -126, 127, 0x7f7f, 0x7f80, 0x7fff, 15};
static const sim_format FORMAT_tf32 = {11, -126, 127, 0x3fbff, 0x3fc00, 0x3ffff, 18};
static const sim_format FORMAT_e4m3 = {4, -6, 7, 0x7e, 0x7e, 0x7f, 7}; /* has no infinity */
static const sim_format FORMAT_e5m2 = {3, -14, 15, 0x7b, 0x7c, 0x7f, 7};

static inline bool rounds_up(char mode, bool negative, u64 rest, u64 half, bool odd) {
  switch (mode) {
  case 'n': return rest > half || (rest == half && odd);
  case 'a': return rest >= half;
  case 'm': return negative && rest;
  case 'p': return !negative && rest;
  default: return false;
  }
}

static inline u64 overflowed(const sim_format *f, char mode, bool negative) {
  bool finite = mode == 'z' || mode == (negative ? 'p' : 'm');
  return finite ? f->top : f->infinity;
}

/* A double to the format's bits. */
static inline u64 sim_narrow(const sim_format *f, double x, char mode) {
  u64 bits = f64_bits(x), mantissa = bits & 0xfffffffffffffull;
  int exponent = (int)(bits >> 52 & 2047) - 1023;
  bool negative = bits >> 63;
  u64 sign = (u64)negative << f->sign;
  if (exponent == 1024) return mantissa ? f->nan : sign | f->infinity;
  if (exponent == -1023 && !mantissa) return sign;
  mantissa |= 1ull << 52; /* a subnormal double is far below every format: any bits will do */
  int drop = 53 - f->precision + (exponent < f->emin ? f->emin - exponent : 0);
  if (exponent < f->emin) exponent = f->emin;
  u64 keep = 0, rest = 1, half = 2;
  if (drop < 55) {
    keep = mantissa >> drop;
    rest = mantissa & ((1ull << drop) - 1);
    half = 1ull << (drop - 1);
  }
  keep += rounds_up(mode, negative, rest, half, keep & 1);
  u64 r = keep;
  if (keep >> (f->precision - 1)) r = ((u64)(exponent + f->bias - 1) << (f->precision - 1)) + keep;
  if (r > f->top) r = overflowed(f, mode, negative);
  return sign | r;
}

/* x, which missed the exact value by an error of the sign of `error`, as an odd double. */
static inline double sim_odd(double x, double error) {
  u64 bits = f64_bits(x);
  if (!(error < 0 || error > 0) || x - x != 0) return x;
  if ((error < 0) != (x < 0)) bits--; /* truncate */
  return bits_f64(bits | 1);
}

static inline double odd_add(double a, double b, char mode) {
  double s = a + b, bb = s - a, error = (a - (s - bb)) + (b - bb);
  /* an exact zero of addends of different sign is -0 when rounding down */
  if (s == 0 && mode == 'm' && (__builtin_signbit(a) || __builtin_signbit(b))) return -0.0;
  return sim_odd(s, error);
}
/* Products of two floats of 24 bits are exact. */
static inline double odd_fma(double a, double b, double c, char mode) {
  return odd_add(a * b, c, mode);
}
static inline double odd_div(double a, double b) {
  double q = a / b, rest = __builtin_fma(-q, b, a);
  return sim_odd(q, b < 0 ? -rest : rest);
}
static inline double odd_sqrt(double a) {
  double s = __builtin_sqrt(a);
  return sim_odd(s, __builtin_fma(-s, s, a));
}
static inline double odd_integer(s128 x) {
  double r = (double)x;
  s128 back = (s128)r; /* below 2^64 in size: the conversion back is defined */
  return sim_odd(r, back < x ? 1 : back > x ? -1 : 0);
}

/* ---- binary64: the nearest value, stepped when it is on the wrong side ---- */

/* miss: of the sign of exact - r */
static inline double sim_step(double r, int miss, char mode) {
  if (mode == 'n' || miss == 0) return r;
  bool toward_zero = miss < 0 ? r > 0 || (r == 0 && !__builtin_signbit(r))
                              : r < 0 || (r == 0 && __builtin_signbit(r));
  bool down = miss < 0 && (mode == 'm' || (mode == 'z' && toward_zero));
  bool up = miss > 0 && (mode == 'p' || (mode == 'z' && toward_zero));
  return down ? nextafter(r, -INFINITY) : up ? nextafter(r, INFINITY) : r;
}
static inline int sign_of(quad x) {
  return (x > 0) - (x < 0);
}
static inline double wide_add(double a, double b, char mode) {
  double s = a + b, bb = s - a, error = (a - (s - bb)) + (b - bb);
  if (a - a != 0 || b - b != 0) return s;
  if (s == 0 && mode == 'm' && (__builtin_signbit(a) || __builtin_signbit(b))) return -0.0;
  if (s - s != 0) return sim_step(s, s > 0 ? -1 : 1, mode);
  return sim_step(s, (error > 0) - (error < 0), mode);
}
static inline double wide_mul(double a, double b, char mode) {
  double p = a * b;
  if (a - a != 0 || b - b != 0) return p;
  return sim_step(p, sign_of((quad)a * b - p), mode);
}
static inline double wide_fma(double a, double b, double c, char mode) {
  double r = __builtin_fma(a, b, c);
  if (a - a != 0 || b - b != 0 || c - c != 0) return r;
  quad p = (quad)a * b, s = p + c, cc = s - p, error = (p - (s - cc)) + (c - cc);
  bool minus = __builtin_signbit(a) != __builtin_signbit(b);
  if (s == 0 && mode == 'm' && (minus || __builtin_signbit(c))) return -0.0;
  if (r - r != 0) return sim_step(r, r > 0 ? -1 : 1, mode);
  return sim_step(r, sign_of((s - r) + error), mode);
}
static inline double wide_div(double a, double b, char mode) {
  double q = a / b;
  if (a - a != 0 || b - b != 0 || b == 0) return q;
  int miss = q - q != 0 ? (q > 0 ? -1 : 1) : sign_of((quad)a - (quad)q * b) * (b < 0 ? -1 : 1);
  return sim_step(q, miss, mode);
}
static inline double wide_sqrt(double a, char mode) {
  double s = __builtin_sqrt(a);
  return s - s != 0 ? s : sim_step(s, sign_of((quad)a - (quad)s * s), mode);
}

#endif
