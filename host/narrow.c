/* The narrow floating formats f16, bf16, f8e4m3 and f8e5m2, to and from binary64 in one rounding.
 * One routine each way, over a description of the format; exact, ties to even, subnormals included.
 */
#include "dtype.h"

#include <string.h>

typedef struct format {
  int exponent_bits, mantissa_bits;
  uint32_t limit; /* the largest encoding that rounding may give: infinity, or the largest number */
  uint32_t nan;   /* what the GPU's cvt writes for any NaN */
  bool has_infinity; /* else only the all-ones encoding is special, and it is NaN */
} format;

static const format f16 = {5, 10, 0x7c00, 0x7fff, true};
static const format bf16 = {8, 7, 0x7f80, 0x7fff, true};
static const format f8e4m3 = {4, 3, 0x7e, 0x7f, false};
static const format f8e5m2 = {5, 2, 0x7b, 0x7f, true};

/* value >> shift, to nearest, ties to even; 0 < shift < 64. */
static inline uint64_t shift_nearest(uint64_t value, int shift) {
  uint64_t half = UINT64_C(1) << (shift - 1);
  return (value + half - 1 + (value >> shift & 1)) >> shift;
}

static inline uint32_t encode(const format *f, double value) {
  if (value != value) return f->nan;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = (uint32_t)(bits >> 63) << (f->exponent_bits + f->mantissa_bits);
  bits &= INT64_MAX;
  int bias = (1 << (f->exponent_bits - 1)) - 1;
  int exponent = (int)(bits >> 52) - 1023 + bias; /* in the narrow format, before rounding */
  int shift = 52 - f->mantissa_bits;
  uint64_t magnitude;
  if (exponent >= 1 << f->exponent_bits) {
    magnitude = f->limit; /* far too large, infinity included */
  } else if (exponent >= 1) {
    /* A carry out of the mantissa moves into the exponent by itself. */
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    magnitude = shift_nearest((uint64_t)exponent << 52 | mantissa, shift);
  } else {
    /* Subnormal: the implicit one becomes explicit and moves right. A binary64 subnormal ends as 0
     * too. */
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    shift += 1 - exponent;
    magnitude = shift > 54 ? 0 : shift_nearest(mantissa, shift);
  }
  if (magnitude > f->limit) magnitude = f->limit;
  return sign | (uint32_t)magnitude;
}

static inline double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline double decode(const format *f, uint32_t bits) {
  int m = f->mantissa_bits;
  uint32_t exponent = bits >> m & ((1u << f->exponent_bits) - 1);
  uint32_t mantissa = bits & ((1u << m) - 1);
  uint64_t sign = (uint64_t)(bits >> (f->exponent_bits + m) & 1) << 63;
  uint32_t bias = (1u << (f->exponent_bits - 1)) - 1;
  bool top = exponent == (1u << f->exponent_bits) - 1;
  if (top && f->has_infinity) return from_bits(sign | (mantissa ? UINT64_C(0x7ff8) : 0x7ff0) << 48);
  if (top && mantissa == (1u << m) - 1) return from_bits(sign | UINT64_C(0x7ff8) << 48);
  if (exponent) /* normal: widen exponent and mantissa */
    return from_bits(sign | (uint64_t)(exponent - bias + 1023) << 52 |
                     (uint64_t)mantissa << (52 - m));
  double unit = from_bits((uint64_t)(1 - bias - (uint32_t)m + 1023) << 52); /* 2^(1 - bias - m) */
  return sign ? -(mantissa * unit) : mantissa * unit;
}

uint16_t pg_f64_to_f16(double value) {
  return (uint16_t)encode(&f16, value);
}

uint16_t pg_f64_to_bf16(double value) {
  return (uint16_t)encode(&bf16, value);
}

uint8_t pg_f64_to_f8e4m3(double value) {
  return (uint8_t)encode(&f8e4m3, value);
}

uint8_t pg_f64_to_f8e5m2(double value) {
  return (uint8_t)encode(&f8e5m2, value);
}

double pg_f16_to_f64(uint16_t bits) {
  return decode(&f16, bits);
}

/* bf16 is the upper half of binary32. */
double pg_bf16_to_f64(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

double pg_f8e4m3_to_f64(uint8_t bits) {
  return decode(&f8e4m3, bits);
}

double pg_f8e5m2_to_f64(uint8_t bits) {
  return decode(&f8e5m2, bits);
}
