/* The library that tests/ffi/shared.lua calls: every kind of argument and result once.
 * No header: the test declares what it needs, and each function is what its name says. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef struct point {
  int x, y;
} point;
typedef struct vec {
  double x, y, z;
} vec;
typedef struct mixed {
  float f;
  int i;
  double d;
} mixed;
typedef struct pair {
  float a, b;
} pair;
typedef union either {
  int64_t i;
  double d;
} either;
typedef struct __attribute__((packed)) tight {
  char c;
  double d;
} tight;
typedef struct __attribute__((packed)) tight_ints {
  char c;
  int64_t i;
} tight_ints;
typedef struct __attribute__((packed)) tight_floats {
  char c;
  float a, b;
} tight_floats;
typedef enum color { RED, GREEN = 5, BLUE } color;

#define EXPORT __attribute__((visibility("default")))

EXPORT int t_counter = 7;
EXPORT const char *const t_text = "hello from C";
EXPORT point t_point = {3, 4};

EXPORT int t_add(int a, double b) {
  return a + (int)b;
}
EXPORT int8_t t_i8(int8_t v) {
  return v;
}
EXPORT uint8_t t_u8(uint8_t v) {
  return v;
}
EXPORT int16_t t_i16(int16_t v) {
  return v;
}
EXPORT uint16_t t_u16(uint16_t v) {
  return v;
}
EXPORT uint32_t t_u32(uint32_t v) {
  return v;
}
EXPORT int64_t t_i64(int64_t v) {
  return v;
}
EXPORT float t_float(float v) {
  return v * 2;
}
EXPORT double t_double(double v) {
  return v * 2;
}
EXPORT bool t_not(bool v) {
  return !v;
}
EXPORT color t_next(color c) {
  return c == RED ? GREEN : BLUE;
}
EXPORT point t_swap(point p) {
  return (point){p.y, p.x};
}
EXPORT vec t_scale(vec v, double by) {
  return (vec){v.x * by, v.y * by, v.z * by};
}
EXPORT mixed t_mixed(mixed m) {
  return (mixed){m.f + 1, m.i + 1, m.d + 1};
}
EXPORT pair t_pair(pair p) {
  return (pair){p.b, p.a};
}
EXPORT either t_either(either e) {
  e.i++;
  return e;
}
EXPORT tight t_tight(int c, double d) {
  return (tight){(char)c, d};
}
EXPORT tight_ints t_tight_ints(int c, int64_t i) {
  return (tight_ints){(char)c, i};
}
EXPORT tight_floats t_tight_floats(int c, float a, float b) {
  return (tight_floats){(char)c, a, b};
}
EXPORT int t_sum(const int *v, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += v[i];
  return sum;
}
EXPORT size_t t_length(const char *s) {
  return strlen(s);
}
EXPORT void *t_same(void *p) {
  return p;
}
EXPORT point *t_make(int x, int y) {
  point *p = malloc(sizeof *p);
  if (p) *p = (point){x, y};
  return p;
}
EXPORT void t_drop(point *p) {
  t_counter++;
  free(p);
}
EXPORT int t_many(int a, int b, int c, int d, int e, int f, int g, int h, double i, float j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + (int)i + (int)j;
}
EXPORT double t_vsum(int n, ...) {
  double sum = 0;
  va_list args;
  va_start(args, n);
  for (int i = 0; i < n; i++) sum += va_arg(args, double);
  va_end(args);
  return sum;
}
EXPORT int t_vpoint(int n, ...) {
  va_list args;
  va_start(args, n);
  const point *p = va_arg(args, const point *);
  va_end(args);
  return p->x + p->y;
}
EXPORT int t_fail(int code) {
  errno = code;
  return -1;
}
EXPORT int t_apply(int (*f)(int), int v) {
  return f(v);
}
EXPORT double t_fold(double (*f)(double, double), const double *v, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum = f(sum, v[i]);
  return sum;
}
EXPORT bool t_each(bool (*f)(const point *, const char *), int n) {
  for (int i = 0; i < n; i++)
    if (!f(&(point){i, i * i}, "each")) return false;
  return true;
}
EXPORT int (*t_pick(void))(int, double) {
  return t_add;
}
EXPORT void t_nothing(void) {}
EXPORT void t_fill(point *p, int n) {
  for (int i = 0; i < n; i++) p[i] = (point){i, -i};
}
EXPORT int t_renamed_in_c(int v) {
  return v + 100;
}
