/* The simulator: kernels that nvcc compiled (tests/ptx/sim_kernels.cu), against references in plain
 * C, on one worker and on several, in every mode; then faulty kernels and the reports they must
 * give. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"

static struct {
  pg_device *device;
  pg_module *module;
  pg_error error;
} t;

static const pg_device_ops *ops(void) {
  return t.device->ops;
}

static void ok(pg_code code) {
  if (code) fail_msg("%s: %s", pg_code_name(code), t.error.message);
}

static char *read_text(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = calloc(1, 1 << 20);
  *bytes = fread(text, 1, (1 << 20) - 1, f);
  fclose(f);
  return text;
}

static void open_device(pg_sim_mode mode, int workers, uint64_t seed) {
  size_t bytes;
  pg_sim_options options = {.mode = mode, .workers = workers, .seed = seed, .limit_s = 20};
  ok(pg_sim_open(&options, &t.device, &t.error));
  char *text = read_text("tests/ptx/sim_kernels.ptx", &bytes);
  ok(ops()->load(t.device, text, bytes, "sim_kernels.ptx", &t.module, &t.error));
  free(text);
}

static int close_device(void **state) {
  (void)state;
  if (t.device) ops()->close(t.device);
  memset(&t, 0, sizeof t);
  return 0;
}

static int open_plain(void **state) {
  (void)state;
  open_device(PG_SIM_PLAIN, 2, 0);
  return 0;
}
static int open_single(void **state) {
  (void)state;
  open_device(PG_SIM_CHECK, 1, 12345);
  return 0;
}
static int open_profile(void **state) {
  (void)state;
  open_device(PG_SIM_PROFILE, 3, 0);
  return 0;
}

static pg_ptr put(const void *data, size_t bytes, const char *name) {
  pg_ptr at;
  ok(ops()->alloc(t.device, bytes, &at, &t.error));
  ok(ops()->name(t.device, at, bytes, name, false, &t.error));
  if (data)
    ok(ops()->upload(t.device, at, data, bytes, NULL, &t.error));
  else
    ok(ops()->fill(t.device, at, 0, 1, bytes, NULL, &t.error));
  return at;
}

static void get(void *data, pg_ptr at, size_t bytes) {
  ok(ops()->download(t.device, data, at, bytes, NULL, &t.error));
}

typedef struct args {
  uint8_t bytes[256];
  size_t used;
} args;

static void add(args *a, const void *value, size_t bytes) {
  a->used = (a->used + bytes - 1) / bytes * bytes;
  memcpy(a->bytes + a->used, value, bytes);
  a->used += bytes;
}
static args with(int count, ...) { /* pointers */
  args a = {.used = 0};
  va_list list;
  va_start(list, count);
  for (int i = 0; i < count; i++) {
    pg_ptr p = va_arg(list, pg_ptr);
    add(&a, &p, sizeof p);
  }
  va_end(list);
  return a;
}
static args and_int(args a, int v) {
  add(&a, &v, sizeof v);
  return a;
}
static args and_float(args a, float v) {
  add(&a, &v, sizeof v);
  return a;
}

static pg_code launch(const char *name, uint32_t grid, uint32_t block, uint32_t shared, args a) {
  pg_launch l = {.grid = {grid, 1, 1},
                 .block = {block, 1, 1},
                 .shared = shared,
                 .params = a.bytes,
                 .param_bytes = a.used};
  ok(ops()->kernel(t.device, t.module, name, &l.kernel, &t.error));
  return ops()->launch(t.device, &l, NULL, &t.error);
}

static uint32_t lcg(uint32_t *s) {
  return *s = *s * 1664525u + 1013904223u;
}

/* ---- right kernels ---- */

static void saxpy(void **state) {
  (void)state;
  enum { N = 1000 };
  float x[N], y[N], got[N];
  uint32_t s = 1;
  for (int i = 0; i < N; i++) {
    x[i] = (float)(lcg(&s) >> 8) * 0x1p-20f - 7;
    y[i] = (float)(lcg(&s) >> 8) * 0x1p-22f - 2;
  }
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(y, sizeof y, "y");
  ok(launch("saxpy", 4, 256, 0, and_int(and_float(with(2, dx, dy), 2.5f), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) assert_true(got[i] == fmaf(2.5f, x[i], y[i]));
}

static void collatz(void **state) {
  (void)state;
  enum { N = 777 };
  uint32_t x[N], got[N];
  for (uint32_t i = 0; i < N; i++) x[i] = i * 37 % 5000 + 1;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof got, "steps");
  ok(launch("collatz", 7, 128, 0, and_int(with(2, dx, dy), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    uint32_t v = x[i], steps = 0;
    for (; v != 1; steps++) v = v & 1 ? 3 * v + 1 : v / 2;
    assert_int_equal(got[i], steps);
  }
}

static void block_sum(void **state) {
  (void)state;
  enum { N = 5000, BLOCK = 320, BLOCKS = (N + BLOCK - 1) / BLOCK };
  int x[N], got[BLOCKS];
  for (int i = 0; i < N; i++) x[i] = i * i % 1013 - 500;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof got, "sums");
  ok(launch("block_sum", BLOCKS, BLOCK, 0, and_int(with(2, dx, dy), N)));
  get(got, dy, sizeof got);
  for (int b = 0; b < BLOCKS; b++) {
    int want = 0;
    for (int i = b * BLOCK; i < N && i < (b + 1) * BLOCK; i++) want += x[i];
    assert_int_equal(got[b], want);
  }
}

static void insert(void **state) {
  (void)state;
  enum { N = 20000, DISTINCT = 700, SLOTS = 1024 };
  static uint64_t keys[N], table[SLOTS];
  static int value[SLOTS], got[N];
  int number_of[DISTINCT], count;
  uint32_t s = 3;
  for (int i = 0; i < N; i++) keys[i] = (lcg(&s) >> 8) % DISTINCT * 1000003ull;
  memset(table, 0xff, sizeof table);
  memset(value, 0xff, sizeof value);
  pg_ptr dk = put(keys, sizeof keys, "keys"), dt = put(table, sizeof table, "table");
  pg_ptr dv = put(value, sizeof value, "value"), dc = put(NULL, sizeof(int), "count");
  pg_ptr dg = put(NULL, sizeof got, "got");
  ok(launch("insert", (N + 255) / 256, 256, 0,
            and_int(and_int(with(5, dk, dt, dv, dc, dg), N), SLOTS - 1)));
  get(got, dg, sizeof got);
  get(&count, dc, sizeof count);
  memset(number_of, 0xff, sizeof number_of);
  int distinct = 0;
  for (int i = 0; i < N; i++) {
    int *n = &number_of[keys[i] / 1000003ull];
    if (*n < 0) {
      *n = got[i];
      distinct++;
    }
    assert_int_equal(got[i], *n);
    assert_in_range(got[i], 0, count - 1);
  }
  assert_int_equal(count, distinct);
}

static void spin_lock(void **state) {
  (void)state;
  int counter;
  pg_ptr lock = put(NULL, 4, "lock"), dc = put(NULL, 4, "counter");
  ok(launch("spin_lock", 8, 96, 0, with(2, lock, dc)));
  get(&counter, dc, 4);
  assert_int_equal(counter, 8 * 96);
}

static void grid_barrier(void **state) {
  (void)state;
  enum { BLOCKS = 40, BLOCK = 64, N = BLOCKS * BLOCK };
  int out[N];
  pg_ptr arrived = put(NULL, 4, "arrived"), data = put(NULL, 4 * N, "data"),
         dout = put(NULL, 4 * N, "out");
  ok(launch("grid_barrier", BLOCKS, BLOCK, 0, and_int(with(3, arrived, data, dout), N)));
  get(out, dout, sizeof out);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], N - 1 - i);
}

static void pick(void **state) {
  (void)state;
  enum { N = 300 };
  int x[N], got[N];
  for (int i = 0; i < N; i++) x[i] = i * 7 % 9;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof got, "y");
  ok(launch("pick", 3, 128, 0, and_int(with(2, dx, dy), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    int want[] = {17, x[i] * 3 + i, i ^ 255, i / 7, i % 13, -i, i << 3, 99, 99};
    assert_int_equal(got[i], want[x[i]]);
  }
}

static int by_value(const void *a, const void *b) {
  return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void local_sort(void **state) {
  (void)state;
  enum { N = 70 };
  int x[N * 9], got[N * 9];
  uint32_t s = 5;
  for (int i = 0; i < N * 9; i++) x[i] = (int)lcg(&s) >> 16;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof got, "y");
  ok(launch("local_sort", 3, 32, 0, and_int(with(2, dx, dy), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    qsort(x + i * 9, 9, sizeof *x, by_value);
    assert_memory_equal(x + i * 9, got + i * 9, 9 * sizeof *x);
  }
}

static void warp_ops(void **state) {
  (void)state;
  enum { N = 64 };
  uint32_t x[N], ballot[N], match[N], up[N], idx[N];
  int all[N];
  for (uint32_t i = 0; i < N; i++) x[i] = i < 32 ? i * 5 % 8 : i * 11 % 9 + 2;
  pg_ptr p[6] = {put(x, sizeof x, "x"),        put(NULL, sizeof x, "ballot"),
                 put(NULL, sizeof x, "match"), put(NULL, sizeof x, "up"),
                 put(NULL, sizeof x, "idx"),   put(NULL, sizeof x, "all")};
  ok(launch("warp_ops", 1, N, 0, with(6, p[0], p[1], p[2], p[3], p[4], p[5])));
  get(ballot, p[1], sizeof x);
  get(match, p[2], sizeof x);
  get(up, p[3], sizeof x);
  get(idx, p[4], sizeof x);
  get(all, p[5], sizeof x);
  for (uint32_t i = 0; i < N; i++) {
    uint32_t w = i & ~31u, odd = 0, same = 0, small = 1, three = 0;
    for (uint32_t j = 0; j < 32; j++) {
      odd |= (x[w + j] & 1) << j;
      same |= (uint32_t)(x[w + j] == x[i]) << j;
      small &= x[w + j] < 8;
      three |= x[w + j] == 3;
    }
    assert_int_equal(ballot[i], odd);
    assert_int_equal(match[i], same);
    assert_int_equal(up[i], (i & 15) < 3 ? x[i] : x[i - 3]);
    assert_int_equal(idx[i], x[w + (x[i] & 31)]);
    assert_int_equal(all[i], small * 2 + three);
  }
}

static void math(void **state) {
  (void)state;
  enum { N = 200 };
  float x[N], y[6 * N];
  double d[N], e[3 * N];
  int k[4 * N];
  uint32_t s = 11;
  for (int i = 0; i < N; i++) {
    x[i] = (float)((int)lcg(&s) >> 8) * 0x1p-12f;
    d[i] = (double)(int)lcg(&s) * 0x1p-20;
  }
  pg_ptr dx = put(x, sizeof x, "x"), dd = put(d, sizeof d, "d"), dy = put(NULL, sizeof y, "y");
  pg_ptr de = put(NULL, sizeof e, "e"), dk = put(NULL, sizeof k, "k");
  ok(launch("math", 2, 128, 0, and_int(with(5, dx, dd, dy, de, dk), N)));
  get(y, dy, sizeof y);
  get(e, de, sizeof e);
  get(k, dk, sizeof k);
  for (int i = 0; i < N; i++) {
    float a = x[i], b = x[N - 1 - i];
    int n = (int)a;
    double scaled = floor((double)(float)(a * 1e6f));
    assert_true(y[6 * i] == a / b);
    assert_true(y[6 * i + 1] == sqrtf(fabsf(a)));
    assert_true(y[6 * i + 2] == fmaf(a, b, 1.0f));
    assert_true(y[6 * i + 3] == fmaf(fmaxf(a, b), 2.0f, fminf(a, b)));
    volatile float floor_minus = floorf(a) - truncf(b);
    assert_true(y[6 * i + 4] == floor_minus + rintf(a * b));
    assert_true(y[6 * i + 5] == (float)(d[i] * 0.1));
    assert_true(e[3 * i] == d[i] / d[N - 1 - i]);
    assert_true(e[3 * i + 1] == sqrt(fabs(d[i])));
    assert_true(e[3 * i + 2] == fma(d[i], (double)a, 1.0 / 3.0));
    assert_int_equal(k[4 * i], n);
    assert_int_equal(k[4 * i + 1], scaled > 2147483647.0    ? INT32_MAX
                                   : scaled < -2147483648.0 ? INT32_MIN
                                                            : (int)scaled);
    assert_int_equal(k[4 * i + 2], (int)((unsigned)n / 7u) + n % 11);
    int clz = n ? __builtin_clz((unsigned)n) : 32;
    assert_int_equal(k[4 * i + 3], __builtin_popcount((unsigned)n) + clz * 100 +
                                       (int)((int64_t)n * (1 << 20) >> 32));
  }
}

static void atomics(void **state) {
  (void)state;
  enum { N = 2000 };
  int x[N], r[7] = {0, 1 << 30, -(1 << 30), -1, 0, 0, 0};
  uint64_t r64[2] = {0};
  float f = 0;
  double d = 0;
  for (int i = 0; i < N; i++) x[i] = (i * 7919 % 100003) - 50000;
  pg_ptr p[5] = {put(x, sizeof x, "x"), put(r, sizeof r, "r"), put(r64, sizeof r64, "r64"),
                 put(&f, 4, "f"), put(&d, 8, "d")};
  ok(launch("atomics", 8, 256, 0, and_int(with(5, p[0], p[1], p[2], p[3], p[4]), N)));
  int want[7] = {0, 1 << 30, -(1 << 30), -1, 0, 0, 0};
  uint64_t want64[2] = {0};
  for (int i = 0; i < N; i++) {
    want[0] += x[i];
    if (x[i] < want[1]) want[1] = x[i];
    if (x[i] > want[2]) want[2] = x[i];
    want[3] &= x[i];
    want[4] |= x[i];
    want[5] ^= x[i];
    want[6] = (unsigned)want[6] >= 9 ? 0 : want[6] + 1;
    uint64_t wide = (uint64_t)(uint32_t)x[i] << 20;
    want64[0] += wide;
    if (wide > want64[1]) want64[1] = wide;
  }
  get(r, p[1], sizeof r);
  get(r64, p[2], sizeof r64);
  get(&f, p[3], 4);
  get(&d, p[4], 8);
  assert_memory_equal(r, want, sizeof r);
  assert_memory_equal(r64, want64, sizeof r64);
  assert_true(f == N);
  assert_true(d == N / 2);
}

static void index_3d(void **state) {
  (void)state;
  enum { W = 12, H = 10, D = 6 };
  static int out[W * H * D];
  pg_ptr p = put(NULL, sizeof out, "out");
  args a = with(1, p);
  pg_launch l = {.grid = {3, 2, 2}, .block = {4, 5, 3}, .params = a.bytes, .param_bytes = a.used};
  ok(ops()->kernel(t.device, t.module, "index_3d", &l.kernel, &t.error));
  ok(ops()->launch(t.device, &l, NULL, &t.error));
  get(out, p, sizeof out);
  for (int z = 0; z < D; z++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++)
        assert_int_equal(out[(z * H + y) * W + x], x + 1000 * y + 1000000 * z);
}

static void dynamic_shared(void **state) {
  (void)state;
  enum { N = 400 };
  int x[N], y[N];
  for (int i = 0; i < N; i++) x[i] = i * 3;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof y, "y");
  ok(launch("dynamic_reverse", 4, 100, 400, with(2, dx, dy)));
  get(y, dy, sizeof y);
  for (int i = 0; i < N; i++) assert_int_equal(y[i], x[i / 100 * 100 + 99 - i % 100]);
  /* too little dynamic shared memory: the kernel runs past it */
  assert_int_equal(launch("dynamic_reverse", 4, 100, 396, with(2, dx, dy)), PG_LAUNCH);
}

static void vectors(void **state) {
  (void)state;
  enum { N = 64 };
  float x[4 * N], y[4 * N];
  uint8_t c[4 * N], e[4 * N];
  for (int i = 0; i < 4 * N; i++) {
    x[i] = (float)i * 0.5f;
    c[i] = (uint8_t)(i * 7);
  }
  pg_ptr p[4] = {put(x, sizeof x, "x"), put(NULL, sizeof y, "y"), put(c, sizeof c, "c"),
                 put(NULL, sizeof e, "e")};
  ok(launch("vector_copy", 2, 32, 0, with(4, p[0], p[1], p[2], p[3])));
  get(y, p[1], sizeof y);
  get(e, p[3], sizeof e);
  for (int i = 0; i < 4 * N; i++) {
    assert_true(y[i] == x[i / 4 * 4 + 3 - i % 4]);
    assert_int_equal(e[i], c[i / 4 * 4 + 3 - i % 4]);
  }
}

static void module_variables(void **state) {
  (void)state;
  int x[32];
  float y[32];
  for (int i = 0; i < 32; i++) x[i] = i;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof y, "y");
  ok(launch("module_variables", 1, 32, 0, with(2, dx, dy)));
  get(y, dy, sizeof y);
  for (int i = 0; i < 32; i++)
    assert_true(y[i] == (float)(10 * (i % 4 + 1)) * (i >> 2 & 1 ? 2.0f : 0.5f));
}

static void counts_what_saxpy_does(void **state) {
  (void)state;
  enum { N = 1024 };
  pg_counters c;
  pg_ptr dx = put(NULL, 4 * N, "x"), dy = put(NULL, 4 * N, "y");
  ops()->counters(t.device, &c, true);
  ok(launch("saxpy", 4, 256, 0, and_int(and_float(with(2, dx, dy), 1.0f), N)));
  ops()->counters(t.device, &c, true);
  assert_true(c.complete);
  assert_int_equal(c.launches, 1);
  assert_int_equal(c.global_load_requests, 2 * N / 32);
  assert_int_equal(c.global_load_sectors, 2 * N * 4 / 32);
  assert_int_equal(c.global_store_requests, N / 32);
  assert_int_equal(c.global_store_bytes, N * 4);
  assert_int_equal(c.branches, N / 32);
  assert_int_equal(c.divergent_branches, 0);
  assert_int_equal(c.thread_instructions, 32 * c.warp_instructions);
}

/* ---- faulty kernels ---- */

static pg_fault fault_of(pg_code want, const char *name, uint32_t grid, uint32_t block, args a) {
  pg_fault f;
  assert_int_equal(launch(name, grid, block, 0, a), want);
  ops()->fault(t.device, &f);
  if (!strstr(f.text, name)) fail_msg("report does not name %s:\n%s", name, f.text);
  return f;
}

static int source_line(const char *needle) {
  size_t bytes;
  char *text = read_text("tests/ptx/sim_kernels.cu", &bytes), *at = strstr(text, needle);
  assert_non_null(at);
  int line = 1;
  for (char *p = text; p < at; p++) line += *p == '\n';
  free(text);
  return line;
}

static void past_end(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 400, "y");
  pg_fault f = fault_of(PG_LAUNCH, "past_end", 1, 100, and_int(with(1, y), 100));
  assert_int_equal(f.kind, PG_FAULT_OUT_OF_BOUNDS);
  assert_int_equal(f.thread[0], 99);
  assert_string_equal(f.allocation, "y");
  assert_int_equal(f.distance, 0);
  assert_int_equal(f.access_bytes, 4);
  assert_string_equal(f.file, "sim_kernels.cu");
  assert_int_equal(f.line, source_line("y[i + (i == n - 1)] = 1.0f"));
  /* the device goes on */
  pg_ptr z = put(NULL, 404, "z");
  ok(launch("past_end", 1, 100, 0, and_int(with(1, z), 100)));
}

static void shared_memory_that_nobody_gave(void **state) {
  (void)state;
  pg_ptr x = put(NULL, 400, "x");
  pg_fault f = fault_of(PG_LAUNCH, "dynamic_reverse", 1, 100, with(2, x, x));
  assert_int_equal(f.kind, PG_FAULT_OUT_OF_BOUNDS);
  assert_string_equal(f.space, "shared");
  assert_non_null(
      strstr(f.text, "the kernel declares no shared memory, and the launch gives it none"));
}

/* An array of no elements is an array: what misses it says so. */
static void past_nothing(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 400, "");
  ok(ops()->name(t.device, y + 200, 0, "nothing", false, &t.error));
  pg_fault f = fault_of(PG_LAUNCH, "past_end", 1, 1, and_int(with(1, y + 200), 100));
  assert_int_equal(f.kind, PG_FAULT_OUT_OF_BOUNDS);
  assert_string_equal(f.allocation, "nothing");
  assert_int_equal(f.allocation_bytes, 0);
  assert_int_equal(f.distance, 0);
  assert_non_null(strstr(f.text, "0 bytes past the end of nothing (0 bytes)"));
}

static void shared_past_end(void **state) {
  (void)state;
  int y[33] = {[32] = 1};
  pg_ptr dy = put(y, sizeof y, "y");
  pg_fault f = fault_of(PG_LAUNCH, "shared_past_end", 1, 32, with(1, dy));
  assert_int_equal(f.kind, PG_FAULT_OUT_OF_BOUNDS);
  assert_string_equal(f.space, "shared");
  assert_int_equal(f.thread[0], 31);
}

static void misaligned(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 400, "y");
  pg_fault f = fault_of(PG_LAUNCH, "misaligned", 1, 32, with(1, y));
  assert_int_equal(f.kind, PG_FAULT_MISALIGNED);
  assert_int_equal(f.thread[0], 1);
}

static void read_only(void **state) {
  (void)state;
  pg_ptr y;
  ok(ops()->alloc(t.device, 400, &y, &t.error));
  ok(ops()->name(t.device, y, 400, "input", true, &t.error));
  pg_fault f = fault_of(PG_LAUNCH, "past_end", 1, 32, and_int(with(1, y), 100));
  assert_int_equal(f.kind, PG_FAULT_READ_ONLY);
  assert_string_equal(f.allocation, "input");
  assert_int_equal(f.distance, 0);
  assert_non_null(strstr(f.text, "inside input"));
}

static void use_after_free(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 400, "y");
  ok(ops()->free(t.device, y, &t.error));
  pg_fault f = fault_of(PG_LAUNCH, "past_end", 1, 32, and_int(with(1, y), 100));
  assert_int_equal(f.kind, PG_FAULT_OUT_OF_BOUNDS);
  assert_non_null(strstr(f.text, "freed"));
  f = fault_of(PG_LAUNCH, "past_end", 1, 32, and_int(with(1, (pg_ptr)0), 100));
  assert_non_null(strstr(f.text, "null"));
}

static void traps(void **state) {
  (void)state;
  int y[64] = {[40] = 7};
  pg_ptr dy = put(y, sizeof y, "y");
  pg_fault f = fault_of(PG_LAUNCH, "traps", 1, 64, with(1, dy));
  assert_int_equal(f.kind, PG_FAULT_TRAP);
  assert_int_equal(f.thread[0], 40);
}

static void for_ever(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 8, "y");
  ops()->limit(t.device, 0.2);
  pg_fault f = fault_of(PG_TIMEOUT, "for_ever", 3, 64, with(1, y));
  assert_int_equal(f.kind, PG_FAULT_TIMEOUT);
  assert_non_null(strstr(f.text, "sim_kernels.cu:"));
  f = fault_of(PG_TIMEOUT, "half_a_barrier", 1, 64, with(1, y));
  assert_non_null(strstr(f.text, "barrier"));
}

static void deadlock(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 128, "y");
  pg_fault f = fault_of(PG_LAUNCH, "lanes_never_meet", 1, 32, with(1, y));
  assert_int_equal(f.kind, PG_FAULT_DEADLOCK);
}

/* ---- launches that cannot be ---- */

static void bad_launches(void **state) {
  (void)state;
  pg_ptr y = put(NULL, 400, "y");
  args a = and_int(with(1, y), 100);
  assert_int_equal(launch("past_end", 0, 32, 0, a), PG_LAUNCH);
  assert_int_equal(launch("past_end", 1, 0, 0, a), PG_LAUNCH);
  assert_int_equal(launch("past_end", 1, 1025, 0, a), PG_LAUNCH);
  assert_int_equal(launch("past_end", 1, 32, 300000, a), PG_LAUNCH);
  assert_int_equal(launch("past_end", 1, 32, 0, with(1, y)), PG_LAUNCH);
  pg_kernel *k;
  assert_int_equal(ops()->kernel(t.device, t.module, "past_and", &k, &t.error), PG_NOT_FOUND);
  assert_non_null(strstr(t.error.hint, "past_end"));
  pg_ptr p;
  assert_int_equal(ops()->alloc(t.device, 0, &p, &t.error), PG_RANGE);
  assert_int_equal(ops()->alloc(t.device, (size_t)1 << 50, &p, &t.error), PG_MEMORY);
  assert_int_equal(ops()->free(t.device, y + 4, &t.error), PG_RANGE);
  assert_int_equal(ops()->upload(t.device, y + 396, &p, 8, NULL, &t.error), PG_RANGE);
}

static void unsupported_instruction(void **state) {
  (void)state;
  static const char text[] =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
      ".reg .b32 %r<4>;\n  mov.u32 %r1, 1;\n  frobnicate.u32 %r2, %r1;\n  ret;\n}\n";
  pg_module *m;
  assert_int_equal(ops()->load(t.device, text, strlen(text), "odd.ptx", &m, &t.error),
                   PG_UNSUPPORTED);
  assert_non_null(strstr(t.error.message, "frobnicate.u32"));
  assert_string_equal(t.error.where, "odd.ptx:8");
}

/* Whatever an instruction says must be understood: a modifier that nobody knows is an error, not a
 * hint. */
static void unsupported_modifier(void **state) {
  (void)state;
  static const char *const lines[] = {"ld.nonsense.global.f32 %f1, [%rd1];",
                                      "st.global.L3::never.f32 [%rd1], %f1;",
                                      "atom.global.nand.u32 %r1, [%rd1], %r2;",
                                      "setp.lt.maybe.f32 %p1, %f1, %f2;",
                                      "shfl.sync.sideways.b32 %r1, %r2, 1, 31, -1;",
                                      "bar.sync.twice 0;",
                                      "add.rz.odd.f32 %f1, %f1, %f2;",
                                      "cvta.to.moon.u64 %rd1, %rd1;",
                                      "bra.sometimes L;"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    char text[512];
    int n = snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %%r<4>;\n.reg .f32 %%f<4>;\n.reg .b64 %%rd<4>;\n.reg .pred %%p<4>;\n%s\n"
        "L: ret;\n}\n",
        lines[i]);
    pg_module *m;
    pg_code code = ops()->load(t.device, text, (size_t)n, "odd.ptx", &m, &t.error);
    if (code != PG_UNSUPPORTED) fail_msg("%s: %s", lines[i], pg_code_name(code));
    assert_string_equal(t.error.where, "odd.ptx:10");
  }
}

#define RIGHT(open)                                                        \
  cmocka_unit_test_setup_teardown(saxpy, open, close_device),              \
      cmocka_unit_test_setup_teardown(collatz, open, close_device),        \
      cmocka_unit_test_setup_teardown(block_sum, open, close_device),      \
      cmocka_unit_test_setup_teardown(insert, open, close_device),         \
      cmocka_unit_test_setup_teardown(spin_lock, open, close_device),      \
      cmocka_unit_test_setup_teardown(grid_barrier, open, close_device),   \
      cmocka_unit_test_setup_teardown(pick, open, close_device),           \
      cmocka_unit_test_setup_teardown(local_sort, open, close_device),     \
      cmocka_unit_test_setup_teardown(warp_ops, open, close_device),       \
      cmocka_unit_test_setup_teardown(math, open, close_device),           \
      cmocka_unit_test_setup_teardown(atomics, open, close_device),        \
      cmocka_unit_test_setup_teardown(index_3d, open, close_device),       \
      cmocka_unit_test_setup_teardown(dynamic_shared, open, close_device), \
      cmocka_unit_test_setup_teardown(vectors, open, close_device),        \
      cmocka_unit_test_setup_teardown(module_variables, open, close_device)

#define FAULTY(name) cmocka_unit_test_setup_teardown(name, open_plain, close_device)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIGHT(open_plain),
      RIGHT(open_single),
      RIGHT(open_profile),
      cmocka_unit_test_setup_teardown(counts_what_saxpy_does, open_profile, close_device),
      FAULTY(past_end),
      FAULTY(past_nothing),
      FAULTY(shared_memory_that_nobody_gave),
      FAULTY(shared_past_end),
      FAULTY(misaligned),
      FAULTY(read_only),
      FAULTY(use_after_free),
      FAULTY(traps),
      FAULTY(for_ever),
      FAULTY(deadlock),
      FAULTY(bad_launches),
      FAULTY(unsupported_instruction),
      FAULTY(unsupported_modifier),
  };
  return cmocka_run_group_tests_name("simulator", tests, NULL, NULL);
}
