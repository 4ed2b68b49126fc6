/* Rounding on the simulator against references of another kind: the processor's own rounding modes
 * for binary32 and binary64, a search in the list of all values for 16- and 8-bit formats, 128-bit
 * integers for carries. */
#include <fenv.h>
#include <math.h>

#include "sim_tests.h"

enum { N = 1024 };

typedef union value {
  uint64_t u;
  double d;
  struct {
    uint32_t low, high;
  } w;
  float f;
} value;

static uint64_t seed = 88172645463325252ull;
static uint64_t random64(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

/* Special values, values near each other, short mantissas and any bits. `bits` wide, `exponent`
 * bits of these. */
static uint64_t operand(int bits, int exponent, int i) {
  int mantissa = bits - 1 - exponent;
  uint64_t infinity = ((1ull << exponent) - 1) << mantissa, one = (infinity >> 1) & infinity;
  uint64_t specials[] = {0,
                         1,
                         one,
                         one + 1,
                         one - 1,
                         infinity,
                         infinity + 1,
                         infinity - 1,
                         1ull << mantissa,
                         (1ull << mantissa) - 1,
                         (1ull << (mantissa + 1)) + 3};
  uint64_t r = random64(), kind = r >> 60, x = random64();
  if (i < 300 || kind < 2)
    x = specials[r % 11];
  else if (kind < 8)
    x = (x % (8ull << mantissa)) + one - (4ull << mantissa); /* near 1 */
  else if (kind < 10)
    x &= ~((1ull << (mantissa / 2)) - 1);
  x &= (bits == 64 ? 0 : 1ull << bits) - 1;
  return x ^ (r >> 32 & 1) << (bits - 1);
}

/* Run "OP d, a, b, c" (as many sources as its letters in `shape`, destination first: h, r, d for
 * registers of 16, 32 and 64 bits) on n threads. */
static void run(const char *op, const char *shape, const value *a, const value *b, const value *c,
                value *got) {
  char text[2048], list[64] = "%d";
  static const char *const names[] = {"%a", "%b", "%c"};
  int n = (int)strlen(shape) - 1;
  for (int i = 0; i < n; i++) {
    strcat(list, ", ");
    strcat(list, names[i]);
  }
#define TYPE(x) ((x) == 'h' ? "b16" : (x) == 'r' ? "b32" : "b64")
  snprintf(text, sizeof text,
           ".entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {\n"
           " .reg .b64 %%x, %%o; .reg .u32 %%t, %%s; .reg .%s %%d; .reg .%s %%a; .reg .%s %%b; "
           ".reg .%s %%c;\n"
           " mov.u32 %%t, %%ctaid.x; mov.u32 %%s, %%tid.x; mad.lo.u32 %%t, %%t, 128, %%s;\n"
           " mul.wide.u32 %%o, %%t, 8;\n"
           " ld.param.u64 %%x, [pa]; add.u64 %%x, %%x, %%o; ld.global.%s %%a, [%%x];\n"
           " ld.param.u64 %%x, [pb]; add.u64 %%x, %%x, %%o; ld.global.%s %%b, [%%x];\n"
           " ld.param.u64 %%x, [pc]; add.u64 %%x, %%x, %%o; ld.global.%s %%c, [%%x];\n"
           " %s %s;\n"
           " ld.param.u64 %%x, [pd]; add.u64 %%x, %%x, %%o; st.global.%s [%%x], %%d; ret; }\n",
           TYPE(shape[0]), TYPE(shape[1]), TYPE(n > 1 ? shape[2] : 'r'),
           TYPE(n > 2 ? shape[3] : 'r'), TYPE(shape[1]), TYPE(n > 1 ? shape[2] : 'r'),
           TYPE(n > 2 ? shape[3] : 'r'), op, list, TYPE(shape[0]));
  sim_load(text);
  pg_ptr pa = put(a, N * sizeof *a, "a"), pb = put(b, N * sizeof *b, "b");
  pg_ptr pc = put(c, N * sizeof *c, "c"), pd = put(NULL, N * sizeof *got, "d");
  ok(launch("k", N / 128, 128, 0, with(4, pa, pb, pc, pd)));
  get(got, pd, N * sizeof *got);
  ops()->unload(sim.device, sim.module);
  ops()->free(sim.device, pa, NULL);
  ops()->free(sim.device, pb, NULL);
  ops()->free(sim.device, pc, NULL);
  ops()->free(sim.device, pd, NULL);
}

static void fill(value *v, int bits, int exponent) {
  for (int i = 0; i < N; i++) v[i].u = operand(bits, exponent, i);
}

/* ---- binary32 and binary64: the processor's rounding modes ---- */

static const struct {
  const char *name;
  int mode;
} MODES[] = {{"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}, {"rn", FE_TONEAREST}};

static const char *const OPERATIONS[] = {"add", "sub", "mul", "div", "fma", "sqrt", "rcp"};

#define COMPUTE(T, suffix)                                                       \
  static __attribute__((noinline)) T compute##suffix(int which, T x, T y, T z) { \
    volatile T a = x, b = y, c = z, r = 0;                                       \
    switch (which) {                                                             \
    case 0: r = a + b; break;                                                    \
    case 1: r = a - b; break;                                                    \
    case 2: r = a * b; break;                                                    \
    case 3: r = a / b; break;                                                    \
    case 4: r = fma##suffix(a, b, c); break;                                     \
    case 5: r = sqrt##suffix(a); break;                                          \
    default: r = 1 / a;                                                          \
    }                                                                            \
    return r;                                                                    \
  }
COMPUTE(float, f)
COMPUTE(double, )

static const char *shape_of(int which, char letter) {
  static char shape[8];
  int n = which >= 5 ? 2 : which == 4 ? 4 : 3;
  memset(shape, letter, (size_t)n);
  shape[n] = 0;
  return shape;
}

static void singles(void **state) {
  (void)state;
  static value a[N], b[N], c[N], got[N];
  for (int op = 0; op < 7; op++) {
    for (int m = 0; m < 4; m++) {
      char text[32];
      fill(a, 32, 8);
      fill(b, 32, 8);
      fill(c, 32, 8);
      snprintf(text, sizeof text, "%s.%s.f32", OPERATIONS[op], MODES[m].name);
      run(text, shape_of(op, 'r'), a, b, c, got);
      for (int i = 0; i < N; i++) {
        fesetround(MODES[m].mode);
        float want = computef(op, a[i].f, b[i].f, c[i].f);
        fesetround(FE_TONEAREST);
        value w = {.f = want};
        if (want != want) w.u = 0x7fffffff;
        if ((uint32_t)w.u != (uint32_t)got[i].u)
          fail_msg("%s of %a, %a, %a: %a, expected %a", text, a[i].f, b[i].f, c[i].f, got[i].f,
                   want);
      }
    }
  }
}

/* The NaN that a binary64 result has, as an H200 gave it (host/sim/README.md): the payload of the
 * second source, then the third, then the first (div: the first, then the second), made quiet. */
static uint64_t nan_of(int op, value a, value b, value c) {
  bool one = op >= 5, three = op == 4, division = op == 3;
  value first = one || division ? a : b, second = one ? a : division ? b : three ? c : a;
  value v = first.d != first.d ? first : second.d != second.d ? second : a;
  return v.d != v.d ? v.u | 0x0008000000000000ull : 0xfff8000000000000ull;
}

static void doubles(void **state) {
  (void)state;
  static value a[N], b[N], c[N], got[N];
  for (int op = 0; op < 7; op++) {
    for (int m = 0; m < 4; m++) {
      char text[32];
      fill(a, 64, 11);
      fill(b, 64, 11);
      fill(c, 64, 11);
      snprintf(text, sizeof text, "%s.%s.f64", OPERATIONS[op], MODES[m].name);
      run(text, shape_of(op, 'd'), a, b, c, got);
      for (int i = 0; i < N; i++) {
        fesetround(MODES[m].mode);
        double want = compute(op, a[i].d, b[i].d, c[i].d);
        fesetround(FE_TONEAREST);
        value w = {.d = want};
        if (want != want) w.u = nan_of(op, a[i], b[i], c[i]);
        if (w.u != got[i].u)
          fail_msg("%s of %a, %a, %a: %a, expected %a", text, a[i].d, b[i].d, c[i].d, got[i].d,
                   want);
      }
    }
  }
}

/* ---- small formats: all values of one, in order ---- */

typedef struct format {
  const char *name;
  int bits, mantissa, bias;
  bool has_infinity;
} format;

static const format F16 = {"f16", 16, 10, 15, true}, BF16 = {"bf16", 16, 7, 127, true};
static const format E4M3 = {"e4m3", 8, 3, 7, false}, E5M2 = {"e5m2", 8, 2, 15, true};

static long double decode(const format *f, uint32_t x) {
  uint32_t sign = x >> (f->bits - 1), exponent = (x & ~(sign << (f->bits - 1))) >> f->mantissa;
  uint32_t mantissa = x & ((1u << f->mantissa) - 1), top = (1u << (f->bits - 1 - f->mantissa)) - 1;
  long double r;
  if (exponent == top && f->has_infinity)
    r = mantissa ? NAN : INFINITY;
  else if (exponent == top && mantissa == (1u << f->mantissa) - 1)
    r = NAN;
  else if (exponent)
    r = ldexpl(mantissa | 1u << f->mantissa, (int)exponent - f->bias - f->mantissa);
  else
    r = ldexpl(mantissa, 1 - f->bias - f->mantissa);
  return sign ? -r : r;
}

/* The value of the format nearest to x, of two the even one; x is not NaN. Past the largest value
 * is what one more step of the exponent would give: infinity, or (finite) the largest. */
static uint32_t encode(const format *f, long double x, bool finite) {
  uint32_t sign = (uint32_t)(signbit(x) != 0) << (f->bits - 1);
  uint32_t top = (1u << (f->bits - 1)) - 1; /* the largest finite magnitude */
  while (!isfinite(decode(f, top))) top--;
  long double magnitude = fabsl(x);
  uint32_t low = 0, high = top;
  while (low < high) { /* the largest that is not above */
    uint32_t middle = (low + high + 1) / 2;
    if (decode(f, middle) <= magnitude)
      low = middle;
    else
      high = middle - 1;
  }
  long double below = decode(f, low);
  long double above = low < top ? decode(f, low + 1) : 2 * below - decode(f, low - 1);
  bool up =
      magnitude - below > above - magnitude || (magnitude - below == above - magnitude && low & 1);
  low += up;
  return sign | (low > top && finite ? top : low);
}

/* The result to 64 bits, moved toward the exact one where it lies between: rounding it once more
 * then decides as rounding the exact result would. */
static long double reference(int op, __float128 x, __float128 y, __float128 z) {
  __float128 left = op < 2 ? x : x * y, right = op == 0 ? y : op == 1 ? -y : op == 2 ? 0 : z;
  if (op == 2) return (long double)left; /* exact */
  __float128 sum = left + right, part = sum - left;
  __float128 rest = (left - (sum - part)) + (right - part);
  long double near = (long double)sum;
  if (op == 4 && !(near != near) && !(sum > 0)) return 0;
  if (!isfinite(near)) return near;
  rest += sum - near;
  return rest > 0 ? nextafterl(near, INFINITY) : rest < 0 ? nextafterl(near, -INFINITY) : near;
}

static void halves(void **state) {
  (void)state;
  static value a[N], b[N], c[N], got[N];
  const format *formats[] = {&F16, &BF16};
  static const char *const names[] = {"add", "sub", "mul", "fma.rn", "fma.rn.relu"};
  for (int k = 0; k < 10; k++) {
    const format *f = formats[k & 1];
    int op = k / 2, exponent = 15 - f->mantissa;
    char text[32];
    for (int packed = 0; packed < 2; packed++) {
      for (int i = 0; i < N; i++) {
        a[i].u = operand(16, exponent, i) | operand(16, exponent, i) << 16;
        b[i].u = operand(16, exponent, i) | operand(16, exponent, i) << 16;
        c[i].u = operand(16, exponent, i) | operand(16, exponent, i) << 16;
      }
      snprintf(text, sizeof text, "%s.%s%s", names[op], f->name, packed ? "x2" : "");
      run(text, op >= 3 ? (packed ? "rrrr" : "hhhh") : packed ? "rrr" : "hhh", a, b, c, got);
      for (int i = 0; i < N * (packed + 1); i++) {
        int shift = i / N * 16;
        uint32_t pa = a[i % N].w.low >> shift & 0xffff, pb = b[i % N].w.low >> shift & 0xffff;
        uint32_t pc = c[i % N].w.low >> shift & 0xffff, r = got[i % N].w.low >> shift & 0xffff;
        long double near = reference(op, decode(f, pa), decode(f, pb), decode(f, pc));
        uint32_t want = near != near ? 0x7fff : encode(f, near, false);
        if (op == 4 && near == 0) want = 0;
        if (want != r)
          fail_msg("%s of 0x%04x, 0x%04x, 0x%04x: 0x%04x, expected 0x%04x", text, pa, pb, pc, r,
                   want);
      }
    }
  }
}

static void conversions(void **state) {
  (void)state;
  static value a[N], b[N], got[N];
  const format *formats[] = {&F16, &BF16, &E4M3, &E5M2};
  for (int k = 0; k < 4; k++) {
    const format *f = formats[k];
    bool small = f->bits == 8;
    char text[48];
    for (int i = 0; i < N; i++) { /* around the range of the format */
      float x = (float)decode(f, (uint32_t)random64() & ((1u << (f->bits - 1)) - 1));
      value v = {.f = x};
      v.w.low += (uint32_t)(random64() % 3) - 1;
      if (random64() & 1) v.w.low ^= 0x80000000u;
      a[i].u = i < 200 ? operand(32, 8, i) : v.w.low;
      b[i].u = operand(32, 8, i);
    }
    snprintf(text, sizeof text, "cvt.rn%s.%sx2.f32", small ? ".satfinite" : "", f->name);
    run(text, small ? "hrr" : "rrr", a, b, b, got);
    for (int i = 0; i < 2 * N; i++) {
      float x = i < N ? a[i].f : b[i - N].f;
      uint32_t mask = (1u << f->bits) - 1, nan = small ? 0x7f : 0x7fff;
      uint32_t r = (i < N ? got[i].w.low >> f->bits : got[i - N].w.low) & mask;
      uint32_t want = x != x ? nan : encode(f, x, small);
      if (want != r) fail_msg("%s of %a: 0x%x, expected 0x%x", text, x, r, want);
    }
  }
}

/* ---- carries ---- */

typedef unsigned __int128 wide;

static void carries(void **state) {
  (void)state;
  static value a[N], b[N], c[N], got[N];
  for (int k = 0; k < 3; k++) {
    const char *text = k == 0   ? "{ .reg .b64 %l, %h; add.cc.u64 %l, %a, %b; addc.u64 %h, %c, 5; "
                                  "xor.b64 %d, %l, %h; } //"
                       : k == 1 ? "{ .reg .b64 %l, %h; sub.cc.u64 %l, %a, %b; subc.u64 %h, %c, 5; "
                                  "xor.b64 %d, %l, %h; } //"
                                : "{ .reg .b64 %l, %h; mad.lo.cc.u64 %l, %a, %b, %c; madc.hi.u64 "
                                  "%h, %a, %b, 5; xor.b64 %d, %l, %h; } //";
    for (int i = 0; i < N; i++) {
      a[i].u = operand(64, 11, i);
      b[i].u = i & 1 ? a[i].u : operand(64, 11, i);
      c[i].u = random64();
    }
    run(text, "dddd", a, b, c, got);
    for (int i = 0; i < N; i++) {
      wide x = a[i].u, y = b[i].u, r;
      wide high = (wide)c[i].u << 64, five = (wide)5 << 64;
      r = k == 0 ? x + high + y + five : k == 1 ? (x | high) - (y | five) : x * y + c[i].u + five;
      assert_true(((uint64_t)r ^ (uint64_t)(r >> 64)) == got[i].u);
    }
  }
}

/* ---- bits ---- */

static void bits(void **state) {
  (void)state;
  static value a[N], b[N], c[N], got[N];
  for (int i = 0; i < N; i++) {
    a[i].u = random64() >> 32;
    b[i].u = i & 1 ? random64() % 40 : random64() >> 32;
    c[i].u = (uint32_t)(random64() % 9) - 4;
  }
  run("dp2a.lo.s32.u32", "rrrr", a, b, c, got);
  for (int i = 0; i < N; i++) {
    int want = (int16_t)a[i].u * (int)(uint8_t)b[i].u +
               (int16_t)(a[i].u >> 16) * (int)(uint8_t)(b[i].u >> 8);
    assert_int_equal(got[i].w.low, (uint32_t)want + c[i].w.low);
  }
  run("bmsk.clamp.b32", "rrr", b, a, c, got);
  for (int i = 0; i < N; i++) {
    uint32_t want = 0;
    for (uint64_t k = b[i].u; k < 32 && k < b[i].u + a[i].u; k++) want |= 1u << k;
    assert_int_equal(got[i].w.low, want);
  }
  run("szext.clamp.s32", "rrr", a, b, c, got);
  for (int i = 0; i < N; i++) {
    uint32_t n = b[i].w.low, want = 0;
    for (uint32_t k = 0; k < 32 && n; k++) {
      uint32_t from = k < n ? k : n - 1;
      want |= (a[i].w.low >> from & 1) << k;
    }
    assert_int_equal(got[i].w.low, want);
  }
  run("fns.b32", "rrrr", a, b, c, got);
  for (int i = 0; i < N; i++) {
    int n = (int)c[i].w.low, base = (int)b[i].w.low, at = -1;
    for (int k = base, left = n; base >= 0 && base < 32 && k >= 0 && k < 32; k += n < 0 ? -1 : 1) {
      bool set = a[i].w.low >> k & 1;
      if (n == 0 && !set) break;
      if (set && (n == 0 || (left += n < 0 ? 1 : -1) == 0)) {
        at = k;
        break;
      }
    }
    assert_int_equal((int)got[i].w.low, at);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, sim_open_empty, sim_close)
      TEST(singles), TEST(doubles), TEST(halves), TEST(conversions), TEST(carries), TEST(bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
