/* The eight kernels of kernels.cu: inputs, launches, and what the results must be. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "rng.h"

static const uint64_t SEED = 2026;

static void *host(bench *b, int index, size_t bytes, int fill) {
  b->host[index] = malloc(bytes);
  if (!b->host[index]) die("no memory");
  memset(b->host[index], fill, bytes);
  b->bytes[index] = bytes;
  return b->host[index];
}

static float uniform(uint64_t stream, uint64_t index) {
  return (float)pg_rng_f64(SEED, stream, index);
}

static void fill_floats(float *x, size_t n, uint64_t stream) {
  for (size_t i = 0; i < n; i++) x[i] = uniform(stream, i);
}

static double *expect(bench *b, size_t n) {
  b->expected = calloc(n, sizeof *b->expected);
  if (!b->expected) die("no memory");
  return b->expected;
}

static void *result(const bench *b, backend *on, int index) {
  void *to = malloc(b->bytes[index]);
  if (!to) die("no memory");
  on->read(on, index, to, b->bytes[index]);
  return to;
}

/* Every one of n floats within `bound` of what is expected, relative to it or absolute below 1. */
static const char *check_floats(const bench *b, backend *on, int index, size_t n, double bound) {
  float *got = result(b, on, index);
  const char *wrong = NULL;
  for (size_t i = 0; i < n && !wrong; i++) {
    double scale = fmax(1, fabs(b->expected[i]));
    if (!(fabs((double)got[i] - b->expected[i]) <= bound * scale)) wrong = "a wrong value";
  }
  free(got);
  return wrong;
}

#define B(index) \
  { 'b', index, 0 }
#define U(value) \
  { 'u', value, 0 }
#define F(value) \
  { 'f', 0, value }
#define LAUNCH(kernel, bx, by, tx, ty, ...)                                                  \
  on->launch(on, kernel, (uint32_t[2]){bx, by}, (uint32_t[2]){tx, ty}, (arg[]){__VA_ARGS__}, \
             (int)(sizeof((arg[]){__VA_ARGS__}) / sizeof(arg)))

static uint32_t blocks_of(uint32_t n, uint32_t threads) {
  return (n + threads - 1) / threads;
}

/* ---- hash insert ---- */

static void insert_make(bench *b) {
  uint64_t *keys = host(b, 0, b->n * sizeof *keys, 0);
  host(b, 1, 2 * b->n * sizeof *keys, 255);
  for (uint32_t i = 0; i < b->n; i++) keys[i] = pg_rng_u64(SEED, 0, i);
  b->items = b->n;
}

static void insert_run(const bench *b, backend *on) {
  LAUNCH("insert", blocks_of(b->n, 256), 1, 256, 1, B(0), B(1), U(b->n), U(2 * b->n - 1));
}

/* Exactly n slots are full, and each key (they all differ) is found by probing from its home. */
static const char *insert_check(const bench *b, backend *on) {
  uint64_t *slots = result(b, on, 1), mask = 2 * (uint64_t)b->n - 1, full = 0;
  const uint64_t *keys = b->host[0];
  const char *wrong = NULL;
  for (uint32_t i = 0; i < b->n; i++) {
    uint64_t at = keys[i] * 0x9e3779b97f4a7c15ull >> 32 & mask;
    while (slots[at] != keys[i] && slots[at] != ~0ull) at = (at + 1) & mask;
    if (slots[at] != keys[i]) wrong = "a key is missing";
  }
  for (uint64_t i = 0; i <= mask; i++) full += slots[i] != ~0ull;
  if (full != b->n) wrong = "not n full slots";
  free(slots);
  return wrong;
}

/* ---- saxpy, reduction, histogram ---- */

static void saxpy_make(bench *b) {
  float *x = host(b, 0, b->n * sizeof *x, 0), *y = host(b, 1, b->n * sizeof *y, 0);
  fill_floats(x, b->n, 1);
  fill_floats(y, b->n, 2);
  double *want = expect(b, b->n);
  for (uint32_t i = 0; i < b->n; i++) want[i] = 2.5 * (double)x[i] + (double)y[i];
  b->items = b->n;
}

static void saxpy_run(const bench *b, backend *on) {
  LAUNCH("saxpy", blocks_of(b->n, 256), 1, 256, 1, B(0), B(1), F(2.5f), U(b->n));
}

static const char *saxpy_check(const bench *b, backend *on) {
  return check_floats(b, on, 1, b->n, 1e-6);
}

enum { PARTS = 256 };

static void reduction_make(bench *b) {
  float *x = host(b, 0, b->n * sizeof *x, 0);
  host(b, 1, PARTS * sizeof *x, 0);
  fill_floats(x, b->n, 3);
  double *want = expect(b, PARTS);
  for (uint32_t i = 0; i < b->n; i++) want[i / 256 % PARTS] += (double)x[i];
  b->items = b->n;
}

static void reduction_run(const bench *b, backend *on) {
  LAUNCH("reduction", PARTS, 1, 256, 1, B(0), B(1), U(b->n));
}

static const char *reduction_check(const bench *b, backend *on) {
  return check_floats(b, on, 1, PARTS, 1e-5);
}

static void histogram_make(bench *b) {
  uint8_t *x = host(b, 0, b->n, 0);
  host(b, 1, 256 * sizeof(uint32_t), 0);
  double *want = expect(b, 256);
  for (uint32_t i = 0; i < b->n; i++) {
    x[i] = (uint8_t)(pg_rng_u32(SEED, 4, i) & pg_rng_u32(SEED, 5, i));
    want[x[i]]++;
  }
  b->items = b->n;
}

static void histogram_run(const bench *b, backend *on) {
  LAUNCH("histogram", PARTS, 1, 256, 1, B(0), B(1), U(b->n));
}

static const char *histogram_check(const bench *b, backend *on) {
  uint32_t *bins = result(b, on, 1);
  const char *wrong = NULL;
  for (int i = 0; i < 256; i++) {
    if ((double)bins[i] != b->expected[i]) wrong = "a wrong count";
  }
  free(bins);
  return wrong;
}

/* ---- matmul, stencil, n-body ---- */

static void matmul_make(bench *b) {
  uint32_t n = b->n;
  size_t bytes = (size_t)n * n * sizeof(float);
  float *x = host(b, 0, bytes, 0), *y = host(b, 1, bytes, 0);
  host(b, 2, bytes, 0);
  fill_floats(x, (size_t)n * n, 6);
  fill_floats(y, (size_t)n * n, 7);
  double *want = expect(b, (size_t)n * n);
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t k = 0; k < n; k++) {
      for (uint32_t j = 0; j < n; j++)
        want[i * n + j] += (double)x[i * n + k] * (double)y[k * n + j];
    }
  }
  b->items = (double)n * n * n;
}

static void matmul_run(const bench *b, backend *on) {
  LAUNCH("matmul", b->n / 16, b->n / 16, 16, 16, B(0), B(1), B(2), U(b->n));
}

static const char *matmul_check(const bench *b, backend *on) {
  return check_floats(b, on, 2, (size_t)b->n * b->n, 1e-5);
}

static void stencil_make(bench *b) {
  uint32_t n = b->n;
  float *x = host(b, 0, (size_t)n * n * sizeof *x, 0);
  host(b, 1, (size_t)n * n * sizeof *x, 0);
  fill_floats(x, (size_t)n * n, 8);
  double *want = expect(b, (size_t)n * n);
  for (uint32_t i = 0; i < n * n; i++) {
    uint32_t row = i / n, column = i % n;
    bool border = !row || !column || row == n - 1 || column == n - 1;
    want[i] = border ? (double)x[i]
                     : 0.5 * (double)x[i] + 0.125 * ((double)x[i - 1] + (double)x[i + 1] +
                                                     (double)x[i - n] + (double)x[i + n]);
  }
  b->items = (double)n * n;
}

static void stencil_run(const bench *b, backend *on) {
  LAUNCH("stencil", blocks_of(b->n, 32), blocks_of(b->n, 8), 32, 8, B(0), B(1), U(b->n));
}

static const char *stencil_check(const bench *b, backend *on) {
  return check_floats(b, on, 1, (size_t)b->n * b->n, 1e-6);
}

static void nbody_make(bench *b) {
  uint32_t n = b->n;
  float(*x)[4] = host(b, 0, n * sizeof *x, 0);
  host(b, 1, n * sizeof *x, 0);
  fill_floats(&x[0][0], (size_t)n * 4, 9);
  double(*want)[4] = (double(*)[4])(void *)expect(b, (size_t)n * 4);
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < n; j++) {
      double d[3], square = 1e-3;
      for (int k = 0; k < 3; k++) d[k] = (double)x[j][k] - (double)x[i][k];
      for (int k = 0; k < 3; k++) square += d[k] * d[k];
      double strength = (double)x[j][3] / (square * sqrt(square));
      for (int k = 0; k < 3; k++) want[i][k] += strength * d[k];
    }
  }
  b->items = (double)n * n;
}

static void nbody_run(const bench *b, backend *on) {
  LAUNCH("nbody", b->n / 256, 1, 256, 1, B(0), B(1), U(b->n));
}

/* Thousands of terms of both signs, some near 1e3: 2e-3 of the sum's scale. */
static const char *nbody_check(const bench *b, backend *on) {
  return check_floats(b, on, 1, (size_t)b->n * 4, 2e-3);
}

/* ---- breadth-first search: n vertices with 8 random edges each ---- */

enum { DEGREE = 8 };
/* Buffers: 0 first edge of each vertex, 1 edges, 2 levels, 3 and 4 frontiers, 5 tail. */

static void expected_levels(bench *b, const uint32_t *edges) {
  uint32_t *queue = malloc(b->n * sizeof *queue), head = 0, tail = 1;
  if (!queue) die("no memory");
  double *want = expect(b, b->n);
  for (uint32_t i = 1; i < b->n; i++) want[i] = -1;
  for (queue[0] = 0; head < tail; head++) {
    for (uint32_t e = queue[head] * DEGREE; e < (queue[head] + 1) * DEGREE; e++) {
      if (want[edges[e]] >= 0) continue;
      want[edges[e]] = want[queue[head]] + 1;
      queue[tail++] = edges[e];
    }
  }
  free(queue);
}

static void search_make(bench *b) {
  uint32_t n = b->n, *first = host(b, 0, (n + 1) * sizeof *first, 0);
  uint32_t *edges = host(b, 1, (size_t)n * DEGREE * sizeof *edges, 0);
  int32_t *level = host(b, 2, n * sizeof *level, 255);
  host(b, 3, n * sizeof *first, 0); /* vertex 0 is the first frontier */
  host(b, 4, n * sizeof *first, 0);
  host(b, 5, sizeof *first, 0);
  for (uint32_t i = 0; i <= n; i++) first[i] = i * DEGREE;
  for (uint32_t i = 0; i < n * DEGREE; i++) edges[i] = pg_rng_u32(SEED, 10, i) % n;
  level[0] = 0;
  expected_levels(b, edges);
  b->items = (double)n * DEGREE;
}

static void search_run(const bench *b, backend *on) {
  uint32_t n = 1, zero = 0;
  (void)b;
  for (uint32_t depth = 1, from = 3; n; depth++, from = 7 - from) {
    on->write(on, 5, &zero, sizeof zero);
    LAUNCH("search", blocks_of(n, 256), 1, 256, 1, B(0), B(1), B(2), B(from), B(7 - from), B(5),
           U(n), U(depth));
    on->read(on, 5, &n, sizeof n);
  }
}

static const char *search_check(const bench *b, backend *on) {
  int32_t *level = result(b, on, 2);
  const char *wrong = NULL;
  for (uint32_t i = 0; i < b->n; i++) {
    if ((double)level[i] != b->expected[i]) wrong = "a wrong level";
  }
  free(level);
  return wrong;
}

const workload WORKLOADS[] = {
    {"insert", "M keys/s", 1u << 20, 1u << 18, insert_make, insert_run, insert_check},
    {"saxpy", "M values/s", 1u << 22, 1u << 18, saxpy_make, saxpy_run, saxpy_check},
    {"reduction", "M values/s", 1u << 22, 1u << 18, reduction_make, reduction_run, reduction_check},
    {"matmul", "M fma/s", 384, 64, matmul_make, matmul_run, matmul_check},
    {"histogram", "M values/s", 1u << 22, 1u << 18, histogram_make, histogram_run, histogram_check},
    {"stencil", "M points/s", 2048, 384, stencil_make, stencil_run, stencil_check},
    {"nbody", "M pairs/s", 4096, 512, nbody_make, nbody_run, nbody_check},
    {"search", "M edges/s", 1u << 18, 1u << 14, search_make, search_run, search_check},
    {NULL, NULL, 0, 0, NULL, NULL, NULL}};

/* ---- the life of a bench ---- */

void bench_make(bench *b, const workload *w, uint32_t n) {
  *b = (bench){.n = n};
  w->make(b);
}

void bench_free(bench *b) {
  for (int i = 0; i < BUFFERS; i++) free(b->host[i]);
  free(b->expected);
}

void bench_attach(const bench *b, backend *on) {
  for (int i = 0; i < BUFFERS && b->bytes[i]; i++) on->buffer(on, i, b->bytes[i]);
}

void bench_reset(const bench *b, backend *on) {
  for (int i = 0; i < BUFFERS && b->bytes[i]; i++) on->write(on, i, b->host[i], b->bytes[i]);
  on->finish(on);
}
