/* Video instructions that golden vectors do not reach: operands that are constants, parts of
 * registers where they do not belong, forms that are refused. */
#include "sim_tests.h"

#define HEAD                                                                                \
  ".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a, %b, %c, %d; ld.param.u64 %p, [p];" \
  " ld.global.b32 %a, [%p]; ld.global.b32 %b, [%p+4]; ld.global.b32 %c, [%p+8]; "
#define TAIL " st.global.b32 [%p], %d; ret; }"
#define KERNEL(line) HEAD line TAIL

static uint32_t result(const char *kernel, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t words[] = {a, b, c};
  sim_load(kernel);
  pg_ptr p = put(words, sizeof words, "p");
  ok(launch("k", 1, 1, 0, with(1, p)));
  get(words, p, 4);
  return words[0];
}

static void constants(void **state) {
  (void)state;
  assert_int_equal(result(KERNEL("vadd.s32.s32.s32 %d, %a, -3;"), 10, 0, 0), 7);
  assert_int_equal(result(KERNEL("vmad.s32.s32.s32 %d, %a, 5, -%c;"), 7, 0, 4), 31);
  assert_int_equal(
      result(KERNEL("vabsdiff4.u32.u32.u32.add %d, %a, %b, 1000;"), 0x01020304, 0x04030201, 0),
      1000 + 3 + 1 + 1 + 3);
}

static void parts(void **state) {
  (void)state;
  assert_int_equal(result(KERNEL("vsub.s32.u32.s32 %d, %a.b3, %b.h0;"), 0xff000000, 0xffff, 0),
                   256);
  /* the halves b1 a0, less those of b: d.h0 stays that of c */
  assert_int_equal(result(KERNEL("vsub2.s32.s32.s32 %d.h1, %a.h30, %b, %c;"), 0x00010002,
                          0x00500003, 0x0007000a),
                   (0x50u - 0x50u) << 16 | 0x000a);
}

static void refused(void **state) {
  (void)state;
  static const char *const FORMS[] = {"vadd.u32.u32.u32.sat %d, %a, %b;",
                                      "vadd.u32.u32.u32.max %d, %a, %b, %c;",
                                      "vmad.u32.u32.u32.shr7 %d, %a, %b, %c;",
                                      "vset.u32.u32.u32.lt %d, %a, %b;",
                                      "vadd.u16.u32.u32 %d, %a, %b;",
                                      "vadd.u32 %d, %a, %b;",
                                      "vshl.u32.u32.u32.clamp.po %d, %a, %b;",
                                      "vadd3.u32.u32.u32 %d, %a, %b;",
                                      "vmad2.u32.u32.u32 %d, %a, %b, %c;",
                                      "vavrg.u32.u32.u32 %d, %a, %b;",
                                      "vadd.u32.u32.u32 %d.b1, %a, %b, %c;",
                                      "vadd.u32.u32.u32 %d, %a.b4, %b;",
                                      "vadd2.u32.u32.u32 %d, %a.h40, %b, %c;",
                                      "vadd2.u32.u32.u32 %d, %a.h1, %b, %c;",
                                      "vadd4.u32.u32.u32 %d.b4, %a, %b, %c;",
                                      "vadd4.u32.u32.u32 %d.h1, %a, %b, %c;",
                                      "vadd.u32.u32.u32 %d, -%a, %b;",
                                      "vmad.s32.s32.s32 %d, -%a, %b, -%c;",
                                      "vmad.s32.s32.s32.po %d, %a, %b, -%c;",
                                      "vadd4.u32.u32.u32 %d, %a, %b;",
                                      "vadd.u32.u32.u32 %d, %a, %b, %c;",
                                      "add.u32 %d, %a.b0, %b;",
                                      "add.u32 %d, -%a, %b;",
                                      "vadd.u32.u32.u32 %d, %nothing.b0, %b;",
                                      "vadd2.u32.u32.u32 %d, %a., %b, %c;"};
  for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", HEAD, FORMS[i], TAIL);
    if (sim_try(text) == PG_OK) fail_msg("%s", FORMS[i]);
    assert_non_null(strstr(sim.error.where, "t.ptx:4"));
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sim_open_empty, sim_close)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(constants), TEST(parts), TEST(refused)};
  return cmocka_run_group_tests_name("video", tests, NULL, NULL);
}
