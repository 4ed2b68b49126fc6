/* Element types: scalars, and structs of scalars with C layout. Values are plain structs; nothing
 * is owned. */
#ifndef PG_DTYPE_H
#define PG_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

/*   id      name      bytes  class: f floating, i signed, u unsigned, b bool */
#define PG_SCALARS(X)         \
  X(F64, "f64", 8, 'f')       \
  X(F32, "f32", 4, 'f')       \
  X(F16, "f16", 2, 'f')       \
  X(BF16, "bf16", 2, 'f')     \
  X(F8E4M3, "f8e4m3", 1, 'f') \
  X(F8E5M2, "f8e5m2", 1, 'f') \
  X(I8, "i8", 1, 'i')         \
  X(I16, "i16", 2, 'i')       \
  X(I32, "i32", 4, 'i')       \
  X(I64, "i64", 8, 'i')       \
  X(U8, "u8", 1, 'u')         \
  X(U16, "u16", 2, 'u')       \
  X(U32, "u32", 4, 'u')       \
  X(U64, "u64", 8, 'u')       \
  X(BOOL, "bool", 1, 'b')

typedef enum pg_scalar {
#define PG_X(id, name, bytes, cls) PG_##id,
  PG_SCALARS(PG_X) PG_SCALAR_COUNT,
#undef PG_X
  PG_STRUCT = PG_SCALAR_COUNT /* only in pg_dtype.scalar: the element is a struct */
} pg_scalar;

enum { PG_FIELD_MAX = 16, PG_NAME_MAX = 32 };

typedef struct pg_field {
  char name[PG_NAME_MAX];
  pg_scalar scalar;
  uint32_t count;  /* > 1: an inline array of that many scalars */
  uint32_t offset; /* bytes from the start of the struct */
} pg_field;

typedef struct pg_dtype {
  pg_scalar scalar; /* PG_STRUCT when fields are used */
  uint32_t size;    /* bytes of one element, trailing padding included */
  uint32_t align;
  uint32_t field_count;
  char name[PG_NAME_MAX]; /* scalar name, or the struct's name as C sees it ("Entry") */
  pg_field fields[PG_FIELD_MAX];
} pg_dtype;

const char *pg_scalar_name(pg_scalar scalar);
uint32_t pg_scalar_size(pg_scalar scalar);
char pg_scalar_class(pg_scalar scalar); /* 'f', 'i', 'u', 'b'; 's' for PG_STRUCT */

/* A floating format. Its numbers are multiples of 2^(exponent - mantissa_bits), exponent >=
 * min_exponent. */
typedef struct pg_float_format {
  int mantissa_bits; /* stored ones: 52 for f64 */
  int min_exponent;  /* of the smallest normal number: -1022 for f64 */
  double max;        /* largest finite number */
} pg_float_format;

const pg_float_format *pg_scalar_format(pg_scalar scalar); /* NULL when it is not floating */

pg_dtype pg_dtype_of(pg_scalar scalar);
/* Name -> scalar dtype. PG_NOT_FOUND names the nearest one in the hint. */
pg_code pg_dtype_parse(const char *name, pg_dtype *out, pg_error *error);
/* Start a struct, add fields in order with C's alignment rules, finish (rounds the size up). */
void pg_dtype_struct(pg_dtype *out, const char *name);
pg_code pg_dtype_add(pg_dtype *out, const char *name, pg_scalar scalar, uint32_t count,
                     pg_error *error);
void pg_dtype_finish(pg_dtype *out);
bool pg_dtype_equal(const pg_dtype *a, const pg_dtype *b);

/* Conversions between binary32/binary64 and the narrow formats. Round to nearest, ties to even;
 * from binary64 in one rounding (never through binary32). f16 and bf16 overflow to infinity; f8e4m3
 * (OCP "fn": no infinity) and f8e5m2 saturate as the GPU's cvt.satfinite does. NaN becomes the
 * GPU's canonical NaN: 0x7fff, 0x7f. */
uint16_t pg_f64_to_f16(double value);
uint16_t pg_f64_to_bf16(double value);
uint8_t pg_f64_to_f8e4m3(double value); /* satfinite: |x| over 448 gives 448 */
uint8_t pg_f64_to_f8e5m2(double value); /* satfinite: |x| over 57344 gives 57344 */
double pg_f16_to_f64(uint16_t bits);
double pg_bf16_to_f64(uint16_t bits);
double pg_f8e4m3_to_f64(uint8_t bits);
double pg_f8e5m2_to_f64(uint8_t bits);

/* One scalar at any address (no alignment needed). Integers are exact through the i64 pair: u64 is
 * passed as its bit pattern. Storing out of range wraps for integers, rounds to nearest for floats.
 * Floats become integers towards zero (NaN and infinity: 0); a bool is 0 or 1. */
double pg_load_f64(pg_scalar scalar, const void *at);
void pg_store_f64(pg_scalar scalar, void *at, double value);
int64_t pg_load_i64(pg_scalar scalar, const void *at);
void pg_store_i64(pg_scalar scalar, void *at, int64_t value);
/* The same for `count` of them, one after the other. */
void pg_load_f64s(pg_scalar scalar, const void *at, size_t count, double *out);
void pg_load_i64s(pg_scalar scalar, const void *at, size_t count, int64_t *out);
void pg_store_f64s(pg_scalar scalar, void *at, size_t count, const double *values);
void pg_store_i64s(pg_scalar scalar, void *at, size_t count, const int64_t *values);

#endif
