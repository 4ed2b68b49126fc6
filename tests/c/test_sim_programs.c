/* Programs that use CUDA's own libraries (tests/ptx/sim_programs.cu) on the simulator, against the
 * same in C; with sim:check they must give no finding. */
#include <math.h>

#include "sim_tests.h"

static int open_plain(void **state) {
  (void)state;
  sim_open(PG_SIM_PLAIN, 2, "tests/ptx/sim_programs.ptx");
  return 0;
}
static int open_check(void **state) {
  (void)state;
  sim_open(PG_SIM_CHECK, 1, "tests/ptx/sim_programs.ptx");
  return 0;
}

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void cub_block(void **state) {
  (void)state;
  int in[128], sum, scan[128], total = 0;
  uint32_t sorted[512], want[512];
  for (int i = 0; i < 128; i++) in[i] = i * i % 97 - 40;
  for (int i = 0; i < 512; i++)
    want[i] = (uint32_t)in[i / 4] * 2654435761u + (uint32_t)(i % 4) * 77777u;
  qsort(want, 512, 4, by_value);
  pg_ptr p[] = {put(in, sizeof in, "in"), put(NULL, 4, "sum"), put(NULL, sizeof scan, "scan"),
                put(NULL, sizeof sorted, "sorted")};
  ok(launch("cub_block", 1, 128, 0, with(4, p[0], p[1], p[2], p[3])));
  get(&sum, p[1], 4);
  get(scan, p[2], sizeof scan);
  get(sorted, p[3], sizeof sorted);
  for (int i = 0; i < 128; i++) assert_int_equal(scan[i], total += in[i]);
  assert_int_equal(sum, total);
  assert_memory_equal(sorted, want, sizeof want);
}

static void cub_warp(void **state) {
  (void)state;
  int in[64], sum[2], scan[64];
  for (int i = 0; i < 64; i++) in[i] = i * 7 % 23;
  pg_ptr p[] = {put(in, sizeof in, "in"), put(NULL, 8, "sum"), put(NULL, sizeof scan, "scan")};
  ok(launch("cub_warp", 1, 64, 0, with(3, p[0], p[1], p[2])));
  get(sum, p[1], sizeof sum);
  get(scan, p[2], sizeof scan);
  for (int w = 0, total; w < 2; w++) {
    total = 0;
    for (int i = 32 * w; i < 32 * w + 32; total += in[i++]) assert_int_equal(scan[i], total);
    assert_int_equal(sum[w], total);
  }
}

static void groups(void **state) {
  (void)state;
  int in[256], tiles[256], odd[256], sum, total = 0;
  float most, largest = 0;
  for (int i = 0; i < 256; i++) in[i] = i * 31 % 101;
  pg_ptr p[] = {put(in, sizeof in, "in"), put(NULL, sizeof tiles, "tiles"),
                put(NULL, sizeof odd, "odd"), put(NULL, 4, "sum"), put(NULL, 4, "most")};
  ok(launch("groups", 1, 256, 0, with(5, p[0], p[1], p[2], p[3], p[4])));
  get(tiles, p[1], sizeof tiles);
  get(odd, p[2], sizeof odd);
  get(&sum, p[3], 4);
  get(&most, p[4], 4);
  for (int i = 0; i < 256; i++) {
    int tile = 0, size = 0, rank = 0;
    for (int k = i / 16 * 16; k < i / 16 * 16 + 16; k++) tile += in[k];
    for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++)
      size += in[k] & 1, rank += k < i && in[k] & 1;
    assert_int_equal(tiles[i], tile);
    assert_int_equal(odd[i], in[i] & 1 ? size * 100 + rank : 0);
    total += in[i];
    if ((float)in[i] > largest) largest = (float)in[i];
  }
  assert_int_equal(sum, total);
  assert_true(most == largest);
}

static void grid_groups(void **state) {
  (void)state;
  enum { N = 20 * 64 };
  int out[N];
  pg_ptr data = put(NULL, sizeof out, "data"), to = put(NULL, sizeof out, "out");
  args a = with(2, data, to);
  pg_launch l = {.grid = {20, 1, 1},
                 .block = {64, 1, 1},
                 .params = a.bytes,
                 .param_bytes = a.used,
                 .cooperative = true};
  ok(ops()->kernel(sim.device, sim.module, "grid_groups", &l.kernel, &sim.error));
  ok(ops()->launch(sim.device, &l, NULL, &sim.error));
  get(out, to, sizeof out);
  for (int i = 0; i < N; i++) assert_int_equal(out[i], N - 1 - i);
}

/* Bounds are those of the CUDA manual for each function, in units of the last place, and one more
 * for the host's library. */
static void near(const char *name, double got, double want, double ulp, double bound) {
  if (want != want ? got != got : fabs(got - want) <= bound * ulp) return;
  fail_msg("%s: %.17g, expected %.17g", name, got, want);
}

static double ulp_of(double x) {
  return nextafter(fabs(x), INFINITY) - fabs(x);
}
static double ulp_of_single(double x) {
  float f = fabsf((float)x);
  return (double)nextafterf(f, INFINITY) - (double)f;
}

static void double_functions(void **state) {
  (void)state;
  enum { N = 96, F = 18 };
  static const char *const names[F] = {"sin",   "cos",    "tan",   "exp",   "log",   "pow",
                                       "erf",   "tgamma", "cbrt",  "j0",    "fmod",  "remainder",
                                       "atan2", "lgamma", "hypot", "expm1", "asinh", "exp2"};
  double x[N], got[N * F];
  for (int i = 0; i < N; i++) x[i] = (i - 48) * 0.173;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof got, "out");
  ok(launch("doubles", 1, N, 0, with(2, dx, dy)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    double a = x[i], b = fabs(a) + 0.25;
    double want[F] = {
        sin(a),       cos(a),    tan(a),       exp(a),   log(b),       pow(b, 1.3),
        erf(a),       tgamma(b), cbrt(a),      j0(a),    fmod(a, 1.7), remainder(a, 2.2),
        atan2(a, 2.), lgamma(b), hypot(a, 3.), expm1(a), asinh(a),     exp2(a)};
    for (int k = 0; k < F; k++) {
      bool absolute = k == 9 || k == 13; /* near their zeros both are bounded absolutely */
      near(names[k], got[i * F + k], want[k], absolute ? 0x1p-50 : ulp_of(want[k]),
           k == 7 ? 11 : 6);
    }
  }
}

static void single_functions(void **state) {
  (void)state;
  enum { N = 96, F = 14 };
  static const char *const names[F] = {"sinf",   "cosf",   "tanf",    "expf",  "logf",
                                       "powf",   "erff",   "tgammaf", "cbrtf", "fmodf",
                                       "atan2f", "hypotf", "tanhf",   "log1pf"};
  float x[N], got[N * F];
  for (int i = 0; i < N; i++) x[i] = (float)(i - 48) * 0.173f;
  pg_ptr dx = put(x, sizeof x, "x"), dy = put(NULL, sizeof got, "out");
  ok(launch("singles", 1, N, 0, with(2, dx, dy)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    double a = (double)x[i], b = (double)(fabsf(x[i]) + 0.25f);
    double want[F] = {sin(a),       cos(a),
                      tan(a),       exp(a),
                      log(b),       pow(b, (double)1.3f),
                      erf(a),       tgamma(b),
                      cbrt(a),      fmod(a, (double)1.7f),
                      atan2(a, 2.), hypot(a, 3.),
                      tanh(a),      log1p(b)};
    for (int k = 0; k < F; k++)
      near(names[k], (double)got[i * F + k], want[k], ulp_of_single(want[k]), k == 7 ? 6 : 5);
  }
}

/* Multiples of 1/4 whose sums are exact in binary16; those of bfloat16 below 64 are, too. */
static void half_sums(void **state) {
  (void)state;
  uint16_t x[64], sum, sum2[2], sum3;
  float out[64];
  double total = 0;
  for (int i = 0; i < 64; i++) {
    x[i] = (uint16_t)(0x3c00 + (i % 3) * 0x200 +
                      (i % 5 == 0 ? 0x8000 : 0)); /* 1, 1.5, 2 and negative */
  }
  pg_ptr p[] = {put(x, sizeof x, "x"), put(NULL, 2, "sum"), put(NULL, 4, "sum2"),
                put(NULL, 2, "sum3"), put(NULL, sizeof out, "out")};
  ok(launch("half_sums", 1, 64, 0, with(5, p[0], p[1], p[2], p[3], p[4])));
  get(&sum, p[1], 2);
  get(sum2, p[2], 4);
  get(&sum3, p[3], 2);
  get(out, p[4], sizeof out);
  for (int i = 0; i < 64; i++) {
    double v = (1 + 0.5 * (i % 3)) * (i % 5 == 0 ? -1 : 1);
    total += v;
    assert_true((double)out[i] == v * v + 0.5);
  }
  /* 32 <= total < 64 */
  assert_true(total >= 32 && total < 64);
  uint16_t half = (uint16_t)(20 << 10 | (int)((total / 32 - 1) * 1024));
  assert_int_equal(sum, half);
  assert_int_equal(sum2[0], half);
  assert_int_equal(sum2[1], half | 0x8000);
  assert_int_equal(sum3, 132 << 7 | (int)((total / 32 - 1) * 128));
}

#define PROGRAMS(X) \
  X(cub_block)      \
  X(cub_warp) X(groups) X(grid_groups) X(double_functions) X(single_functions) X(half_sums)

int main(void) {
  const struct CMUnitTest tests[] = {
#define X(name) cmocka_unit_test_setup_teardown(name, open_plain, sim_close),
      PROGRAMS(X)
#undef X
#define X(name) cmocka_unit_test_setup_teardown(name, open_check, sim_close),
          PROGRAMS(X)
#undef X
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
