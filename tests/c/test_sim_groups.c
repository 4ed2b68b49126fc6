/* Lanes of a warp that name different members at the same shuffle, as kernels do that shuffle
 * within the groups of match.any: each group meets on its own, whatever the others wait for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"

enum { LANES = 32 };

/* Warp 0: lanes with an equal key elect their lowest lane, which waits for flag[key] and then makes
 * the value 1000 + key that all of them shuffle out of it. Warp 1 raises the flags one by one, in
 * the order given, with a long pause after each. */
static const char PTX[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry elect(.param .u64 p_key, .param .u64 p_order, .param .u64 p_flag,\n"
    ".param .u64 p_out)\n"
    "{\n.reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<16>;\n"
    "ld.param.u64 %rd1, [p_key];\nld.param.u64 %rd2, [p_order];\n"
    "ld.param.u64 %rd3, [p_flag];\nld.param.u64 %rd4, [p_out];\n"
    "mov.u32 %r1, %tid.x;\nsetp.ge.u32 %p1, %r1, 32;\n@%p1 bra RAISE;\n"
    "mul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd6, %rd1, %rd5;\nld.global.u32 %r2, [%rd6];\n"
    "mul.wide.u32 %rd7, %r2, 4;\nadd.s64 %rd8, %rd3, %rd7;\n"
    "match.any.sync.b32 %r4, %r2, 0xffffffff;\n"
    "neg.s32 %r5, %r4;\nand.b32 %r6, %r4, %r5;\nbfind.u32 %r7, %r6;\n"
    "mov.u32 %r8, 7;\nsetp.ne.s32 %p1, %r1, %r7;\n@%p1 bra MEET;\n"
    "WAIT: ld.relaxed.gpu.global.u32 %r9, [%rd8];\nsetp.eq.u32 %p2, %r9, 0;\n@%p2 bra WAIT;\n"
    "add.s32 %r8, %r2, 1000;\n"
    "MEET: shfl.sync.idx.b32 %r10|%p3, %r8, %r7, 31, %r4;\n"
    "add.s64 %rd9, %rd4, %rd5;\nst.global.u32 [%rd9], %r10;\nret;\n"
    "RAISE: setp.gt.u32 %p1, %r1, 32;\n@%p1 bra DONE;\n"
    "mov.u32 %r11, 0;\nmov.u32 %r12, 1;\n"
    "NEXT: mul.wide.u32 %rd10, %r11, 4;\nadd.s64 %rd11, %rd2, %rd10;\n"
    "ld.global.u32 %r13, [%rd11];\nmul.wide.u32 %rd12, %r13, 4;\nadd.s64 %rd13, %rd3, %rd12;\n"
    "st.relaxed.gpu.global.u32 [%rd13], %r12;\nmov.u32 %r14, 0;\n"
    "PAUSE: add.s32 %r14, %r14, 1;\nsetp.lt.u32 %p2, %r14, 20000;\n@%p2 bra PAUSE;\n"
    "add.s32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 32;\n@%p2 bra NEXT;\n"
    "DONE: ret;\n}\n";

static pg_error error;

static void ok(pg_code code) {
  if (code) fail_msg("%s: %s", pg_code_name(code), error.message);
}

static pg_ptr put(pg_device *device, const void *data) {
  pg_ptr at;
  ok(device->ops->alloc(device, LANES * sizeof(uint32_t), &at, &error));
  ok(device->ops->upload(device, at, data, LANES * sizeof(uint32_t), NULL, &error));
  return at;
}

static void elect(const uint32_t keys[LANES], const uint32_t order[LANES], uint32_t out[LANES]) {
  pg_sim_options options = {.mode = PG_SIM_CHECK, .workers = 1, .limit_s = 20};
  pg_device *device;
  pg_module *module;
  ok(pg_sim_open(&options, &device, &error));
  ok(device->ops->load(device, PTX, sizeof PTX - 1, "elect.ptx", &module, &error));
  memset(out, 0, LANES * sizeof *out);
  pg_ptr params[4] = {put(device, keys), put(device, order), put(device, out), put(device, out)};
  pg_launch l = {.grid = {1, 1, 1},
                 .block = {2 * LANES, 1, 1},
                 .params = params,
                 .param_bytes = sizeof params};
  ok(device->ops->kernel(device, module, "elect", &l.kernel, &error));
  ok(device->ops->launch(device, &l, NULL, &error));
  ok(device->ops->sync(device, &error));
  ok(device->ops->download(device, out, params[3], LANES * sizeof *out, NULL, &error));
  device->ops->close(device);
}

/* Keys i % groups; flags are raised from the first key to the last, or back. */
static void check(uint32_t groups, bool back) {
  uint32_t keys[LANES], order[LANES], out[LANES];
  for (uint32_t i = 0; i < LANES; i++) {
    keys[i] = i % groups;
    order[i] = back ? LANES - 1 - i : i;
  }
  elect(keys, order, out);
  for (uint32_t i = 0; i < LANES; i++) assert_int_equal(out[i], 1000 + keys[i]);
}

static void groups_meet_in_any_order(void **state) {
  (void)state;
  for (uint32_t groups = 1; groups <= LANES; groups++) {
    check(groups, false);
    check(groups, true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(groups_meet_in_any_order)};
  return cmocka_run_group_tests_name("simulator, groups of lanes", tests, NULL, NULL);
}
