/* Matrix multiplication, matrix loads and asynchronous copies on the simulator. Where an element of
 * a fragment lies is written here as in the PTX ISA, by the number of the element; the values are
 * small integers, so that sums are exact in any order. */
#include "sim_tests.h"

typedef struct shape {
  const char *name;         /* of the instruction */
  const char *element;      /* f16, bf16, tf32, f64, s8, u8 */
  int rows, depth, a, b, c; /* elements of the fragments of a lane */
} shape;

static const shape SHAPES[] = {
    {"m16n8k16.row.col.f32.f16.f16.f32", "f16", 16, 16, 8, 4, 4},
    {"m16n8k8.row.col.f32.f16.f16.f32", "f16", 16, 8, 4, 2, 4},
    {"m16n8k16.row.col.f16.f16.f16.f16", "f16", 16, 16, 8, 4, 4},
    {"m16n8k16.row.col.f32.bf16.bf16.f32", "bf16", 16, 16, 8, 4, 4},
    {"m16n8k8.row.col.f32.bf16.bf16.f32", "bf16", 16, 8, 4, 2, 4},
    {"m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", 16, 4, 2, 1, 4},
    {"m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", 16, 8, 4, 2, 4},
    {"m8n8k4.row.col.f64.f64.f64.f64", "f64", 8, 4, 1, 1, 2},
    {"m8n8k16.row.col.s32.s8.s8.s32", "s8", 8, 16, 4, 4, 2},
    {"m16n8k16.row.col.s32.u8.s8.s32", "u8", 16, 16, 8, 4, 4},
    {"m16n8k32.row.col.s32.s8.u8.s32", "s8", 16, 32, 16, 8, 4},
};

/* Row and column of element i of A, row of element i of B for the lane of group g, thread t in it.
 */
static void place_a(const shape *s, int g, int t, int i, int *row, int *column) {
  int per = s->element[0] == 's' || s->element[0] == 'u' ? 4 : strstr(s->element, "16") ? 2 : 1;
  *row = g;
  *column = t * per + i % per;
  if (s->rows == 8) return;
  if (per == 4 && s->depth == 32) {
    *row = i < 4 || (i >= 8 && i < 12) ? g : g + 8;
    if (i >= 8) *column += 16;
  } else if (per == 4) {
    *row = i < 4 ? g : g + 8;
  } else if (per == 2 && s->depth == 16) {
    *row = i < 2 || (i >= 4 && i < 6) ? g : g + 8;
    if (i >= 4) *column += 8;
  } else if (per == 2) {
    *row = i < 2 ? g : g + 8;
  } else {
    *row = i == 0 || i == 2 ? g : g + 8;
    if (i >= 2) *column += 4;
  }
}

static int row_b(const shape *s, int t, int i) {
  switch (s->depth * 10 + s->b) {
  case 164: return s->element[1] == '8' ? t * 4 + i : i < 2 ? t * 2 + i : t * 2 + (i & 1) + 8;
  case 328: return i < 4 ? t * 4 + i : t * 4 + (i & 3) + 16;
  case 82: return s->element[0] == 't' ? t + 4 * i : t * 2 + i;
  default: return t + i;
  }
}

/* A small integer in the format of an element. */
static uint64_t encode(const char *element, int x) {
  float f = (float)x;
  double d = x;
  uint64_t bits = 0;
  if (element[1] == '8') return (uint64_t)x & 255;
  if (!strcmp(element, "f64")) {
    memcpy(&bits, &d, 8);
    return bits;
  }
  memcpy(&bits, &f, 4);
  if (!strcmp(element, "bf16")) return bits >> 16;
  if (!strcmp(element, "f16"))
    return x ? (bits >> 16 & 0x8000) | ((((bits >> 23 & 255) - 112) << 10) | (bits >> 13 & 1023))
             : 0;
  return bits;
}

static int element_bytes(const char *element) {
  return element[1] == '8' ? 1 : !strcmp(element, "f64") ? 8 : strstr(element, "16") ? 2 : 4;
}

static void list(char *text, const char *prefix, int count) {
  strcat(text, "{");
  for (int i = 0; i < count; i++) sprintf(text + strlen(text), "%s%s%d", i ? ", " : "", prefix, i);
  strcat(text, "}");
}

/* A kernel whose lanes load their fragments, one after the other in memory, multiply and store. */
static void load_kernel(const shape *s, int ra, int rb, int rc, bool wide) {
  char text[8192];
  const char *type = wide ? "b64" : "b32", *mma;
  int bytes = wide ? 8 : 4;
  sprintf(
      text,
      ".entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc) {\n"
      ".reg .u64 %%x, %%o; .reg .u32 %%t; .reg .%s %%a<%d>; .reg .%s %%b<%d>; .reg .%s %%c<%d>;\n"
      "mov.u32 %%t, %%tid.x;\n",
      type, ra + 1, type, rb + 1, type, rc + 1);
  struct {
    const char *param, *reg;
    int count;
  } parts[] = {{"pa", "%a", ra}, {"pb", "%b", rb}, {"pc", "%c", rc}};
  for (int k = 0; k < 3; k++) {
    sprintf(text + strlen(text),
            "ld.param.u64 %%x, [%s]; mul.wide.u32 %%o, %%t, %d; add.u64 %%x, %%x, %%o;\n",
            parts[k].param, parts[k].count * bytes);
    for (int i = 0; i < parts[k].count; i++)
      sprintf(text + strlen(text), "ld.global.%s %s%d, [%%x+%d];\n", type, parts[k].reg, i,
              i * bytes);
  }
  mma = s->name;
  sprintf(text + strlen(text), "mma.sync.aligned.%s ", mma);
  list(text, "%c", rc);
  strcat(text, ", ");
  list(text, "%a", ra);
  strcat(text, ", ");
  list(text, "%b", rb);
  strcat(text, ", ");
  list(text, "%c", rc);
  strcat(text, ";\n");
  for (int i = 0; i < rc; i++)
    sprintf(text + strlen(text), "st.global.%s [%%x+%d], %%c%d;\n", type, i * bytes, i);
  strcat(text, "ret; }\n");
  sim_load(text);
}

static void check_shape(const shape *s) {
  static uint8_t a[32 * 64], b[32 * 64], c[32 * 64];
  int A[16][64], B[64][8], C[16][8];
  int bytes = element_bytes(s->element);
  bool half_sum = strstr(s->name, "f16.f16.f16.f16") != NULL, integer = bytes == 1,
       wide = bytes == 8;
  const char *sum = wide ? "f64" : half_sum ? "f16" : "f32";
  int sum_bytes = wide ? 8 : half_sum ? 2 : 4;
  uint32_t seed = 7;
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < 64; k++) {
      seed = seed * 1664525u + 1013904223u;
      A[i][k] = (int)(seed >> 24) % 9 - (s->element[0] == 'u' ? 0 : 4);
      if (s->element[0] == 'u') A[i][k] += 200; /* does not fit in a signed byte */
      B[k][i % 8] = (int)(seed >> 16 & 255) % 7 - (strstr(s->name, "s8.u8") ? 0 : 3);
      C[i][k % 8] = (int)(seed >> 8 & 255) - 128;
    }
  for (int lane = 0; lane < 32; lane++) {
    int g = lane / 4, t = lane % 4, row, column;
    for (int i = 0; i < s->a; i++) {
      place_a(s, g, t, i, &row, &column);
      uint64_t x = encode(s->element, A[row][column]);
      memcpy(a + (lane * s->a + i) * bytes, &x, (size_t)bytes);
    }
    for (int i = 0; i < s->b; i++) {
      uint64_t x = encode(s->element, B[row_b(s, t, i)][g]);
      memcpy(b + (lane * s->b + i) * bytes, &x, (size_t)bytes);
    }
    for (int i = 0; i < s->c; i++) {
      int value = C[i < 2 ? g : g + 8][t * 2 + (i & 1)];
      uint64_t x = integer ? (uint32_t)value : encode(sum, value);
      memcpy(c + (lane * s->c + i) * sum_bytes, &x, (size_t)sum_bytes);
    }
  }
  int unit = wide ? 8 : 4;
  load_kernel(s, s->a * bytes / unit, s->b * bytes / unit, s->c * sum_bytes / unit, wide);
  pg_ptr pa = put(a, sizeof a, "a"), pb = put(b, sizeof b, "b"), pc = put(c, sizeof c, "c");
  ok(launch("k", 1, 32, 0, with(3, pa, pb, pc)));
  get(c, pc, sizeof c);
  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < s->c; i++) {
      int row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1),
          want = C[row][column];
      for (int k = 0; k < s->depth; k++) want += A[row][k] * B[k][column];
      uint64_t x = integer ? (uint32_t)want : encode(sum, want), got = 0;
      memcpy(&got, c + (lane * s->c + i) * sum_bytes, (size_t)sum_bytes);
      if (x != got)
        fail_msg("%s: lane %d, element %d: %llx, expected %llx", s->name, lane, i,
                 (unsigned long long)got, (unsigned long long)x);
    }
  }
}

static void products(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) check_shape(&SHAPES[i]);
}

/* Elements of four 8 x 8 matrices are their own numbers. */
static void matrix_loads(void **state) {
  (void)state;
  sim_load(
      ".entry k(.param .u64 out) {\n"
      ".shared .align 16 .b8 s[512]; .reg .u32 %t, %v, %a, %r<8>; .reg .u64 %o, %w; .reg .b16 %h;\n"
      "mov.u32 %t, %tid.x; mov.u32 %v, s; mad.lo.u32 %a, %t, 16, %v;\n"
      "mul.lo.u32 %r0, %t, 8; mov.u32 %r1, 0;\n"
      "L: cvt.u16.u32 %h, %r0; st.shared.b16 [%a], %h; add.u32 %a, %a, 2; add.u32 %r0, %r0, 1; "
      "add.u32 %r1, %r1, 1;\n"
      ".reg .pred %p; setp.lt.u32 %p, %r1, 8; @%p bra L;\n"
      "bar.sync 0; mad.lo.u32 %a, %t, 16, %v;\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%a];\n"
      "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r4, %r5}, [%a];\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r6, %r0;\n"
      "ld.param.u64 %o, [out]; mul.wide.u32 %w, %t, 32; add.u64 %o, %o, %w;\n"
      "st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%o+16], {%r4, %r5, %r6, "
      "%r7}; ret; }\n");
  uint32_t got[32][8];
  pg_ptr out = put(NULL, sizeof got, "out");
  ok(launch("k", 1, 32, 0, with(1, out)));
  get(got, out, sizeof got);
  for (uint32_t lane = 0; lane < 32; lane++) {
    for (uint32_t m = 0; m < 4; m++) {
      uint32_t first = m * 64 + lane / 4 * 8 + lane % 4 * 2;
      assert_int_equal(got[lane][m], first | (first + 1) << 16);
    }
    for (uint32_t m = 0; m < 2; m++) {
      uint32_t first = m * 64 + lane % 4 * 16 + lane / 4;
      assert_int_equal(got[lane][4 + m], first | (first + 8) << 16);
    }
    assert_int_equal(got[lane][6], got[lane][4]);
  }
}

static void asynchronous_copies(void **state) {
  (void)state;
  sim_load(
      ".entry k(.param .u64 in, .param .u64 sizes, .param .u64 out) {\n"
      ".shared .align 16 .b8 s[1024]; .reg .u32 %t, %v, %a, %n, %r<8>; .reg .u64 %i, %z, %o, %w, "
      "%w4;\n"
      "mov.u32 %t, %tid.x; mov.u32 %v, s; mad.lo.u32 %a, %t, 32, %v; mul.wide.u32 %w, %t, 16; "
      "mul.wide.u32 %w4, %t, 4;\n"
      "ld.param.u64 %i, [in]; add.u64 %i, %i, %w; ld.param.u64 %z, [sizes]; add.u64 %z, %z, %w4; "
      "ld.global.u32 %n, [%z];\n"
      "cp.async.cg.shared.global [%a], [%i], 16; cp.async.ca.shared.global [%a+16], [%i], 16, %n;\n"
      "cp.async.commit_group; cp.async.wait_group 0;\n"
      "ld.shared.v4.u32 {%r0, %r1, %r2, %r3}, [%a]; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, "
      "[%a+16];\n"
      "ld.param.u64 %o, [out]; add.u64 %o, %o, %w; add.u64 %o, %o, %w;\n"
      "st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%o+16], {%r4, %r5, %r6, "
      "%r7}; ret; }\n");
  uint8_t in[32][16], got[32][32];
  uint32_t sizes[32];
  for (uint32_t i = 0; i < 32; i++) {
    sizes[i] = i % 4 == 0 ? 16 : i % 4 == 1 ? 0 : i % 17;
    for (uint32_t k = 0; k < 16; k++) in[i][k] = (uint8_t)(i * 16 + k + 1);
  }
  pg_ptr di = put(in, sizeof in, "in"), dz = put(sizes, sizeof sizes, "sizes"),
         out = put(NULL, sizeof got, "out");
  ok(launch("k", 1, 32, 0, with(3, di, dz, out)));
  get(got, out, sizeof got);
  for (uint32_t i = 0; i < 32; i++) {
    assert_memory_equal(got[i], in[i], 16);
    for (uint32_t k = 0; k < 16; k++) assert_int_equal(got[i][16 + k], k < sizes[i] ? in[i][k] : 0);
  }
}

/* Hopper's own instructions say how to do without. */
static void not_on_the_simulator(void **state) {
  (void)state;
  expect_load_error(".entry k() { wgmma.fence.sync.aligned; ret; }\n", "wgmma.fence");
  assert_non_null(strstr(sim.error.hint, "sm_80"));
  expect_load_error(".entry k() { cp.async.bulk.commit_group; ret; }\n", "bulk");
  assert_non_null(strstr(sim.error.hint, "sm_80"));
}

static int open_check(void **state) {
  (void)state;
  sim_open(PG_SIM_CHECK, 1, NULL);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name, open) cmocka_unit_test_setup_teardown(name, open, sim_close)
      TEST(products, sim_open_empty),
      TEST(matrix_loads, sim_open_empty),
      TEST(asynchronous_copies, sim_open_empty),
      TEST(products, open_check),
      TEST(matrix_loads, open_check),
      TEST(asynchronous_copies, open_check),
      TEST(not_on_the_simulator, sim_open_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
