/* Opening devices by name, and what a machine without a GPU says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"
#include "device.h"
#include "nearest.h"

static void contains(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("expected \"%s\" in: %s", part, text);
}

static void unknown(const char *spec, const char *hint) {
  pg_error error;
  pg_device *device = (pg_device *)&error;
  assert_int_equal(pg_device_open(spec, &device, &error), PG_NOT_FOUND);
  assert_null(device);
  contains(error.message, spec[0] ? spec : "\"\"");
  contains(error.hint, hint);
}

static void an_unknown_device_suggests_the_nearest(void **state) {
  (void)state;
  unknown("sim:chek", "did you mean sim:check?");
  unknown("sim:porfile", "did you mean sim:profile?");
  unknown("cude:0", "did you mean cuda:0?");
  unknown("aut", "did you mean auto?");
  unknown("", "devices: auto, cuda");
  unknown("quantum computer", "devices: auto, cuda");
}

static void a_number_must_be_a_number(void **state) {
  (void)state;
  unknown("cuda:", "did you mean cuda");
  unknown("cuda:x", "did you mean cuda");
  unknown("cuda:-1", "did you mean cuda");
  unknown("cuda:1x", "did you mean cuda:0?");
  unknown("cuda: 1", "did you mean cuda");
  unknown("cuda:99999999999999999999", "devices: ");
}

/* ---- options of the simulator ---- */

static pg_device *opened(const char *spec) {
  pg_error error;
  pg_device *device;
  if (pg_device_open(spec, &device, &error)) fail_msg("%s: %s", spec, error.message);
  return device;
}

static void opens_as(const char *spec, const char *told) {
  pg_device *device = opened(spec);
  pg_device_info info;
  assert_int_equal(device->ops->info(device, &info, NULL), PG_OK);
  assert_string_equal(info.spec, told);
  pg_device_close(device);
}

static void a_simulator_says_how_to_open_it_again(void **state) {
  (void)state;
  opens_as("sim", "sim");
  opens_as("sim:profile", "sim:profile");
  opens_as("sim,workers=3", "sim,workers=3");
  opens_as("sim:check,seed=7", "sim:check,workers=1,seed=7");
  opens_as("sim:check,seed=7,workers=2", "sim:check,workers=2,seed=7");
  opens_as("sim:profile,workers=256,seed=18446744073709551615",
           "sim:profile,workers=256,seed=18446744073709551615");
}

static void a_bad_option_is_named(void **state) {
  (void)state;
  static const char *const options[] = {
      "",          "seed",        "seed=",       "seed=x",
      "seed=-1",   "seed= 1",     "seed=1x",     "seed=18446744073709551616",
      "workers=0", "workers=257", "workers=1.5", "workers=99999999999999999999",
      "sed=1",     "Seed=1"};
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    const char *const before[] = {"sim,", "sim:check,seed=1,", "sim:profile,workers=1,"};
    for (size_t k = 0; k < 3; k++) {
      char spec[128], quoted[64];
      pg_error error;
      pg_device *device = (pg_device *)&error;
      snprintf(spec, sizeof spec, "%s%s", before[k], options[i]);
      snprintf(quoted, sizeof quoted, "\"%s\"", options[i]);
      assert_int_equal(pg_device_open(spec, &device, &error), PG_RANGE);
      assert_null(device);
      contains(error.message, quoted);
    }
  }
  unknown("cuda:0,seed=1", "devices: ");
  unknown("sim:chek,seed=1", "devices: ");
}

/* Each thread writes its number where a shared counter says. */
static const char order_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                                ".visible .entry order(.param .u64 p)\n{\n"
                                ".reg .b32 %r<3>;\n.reg .b64 %d<4>;\n"
                                "ld.param.u64 %d1, [p];\n"
                                "mov.u32 %r1, %tid.x;\n"
                                "atom.global.add.u32 %r2, [%d1], 1;\n"
                                "mul.wide.u32 %d2, %r2, 4;\n"
                                "add.s64 %d3, %d1, %d2;\n"
                                "st.global.u32 [%d3+4], %r1;\n"
                                "ret;\n}\n";

enum { THREADS = 1024 };

static void order_of(const char *spec, uint32_t order[THREADS]) {
  pg_device *d = opened(spec);
  pg_error error = {0};
  pg_module *module;
  pg_ptr at;
  pg_launch launch = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}};
  launch.params = &at;
  launch.param_bytes = sizeof at;
  pg_code code = d->ops->load(d, order_ptx, sizeof order_ptx - 1, "order.ptx", &module, &error);
  if (!code) code = d->ops->kernel(d, module, "order", &launch.kernel, &error);
  if (!code) code = d->ops->alloc(d, 4 + 4 * THREADS, &at, &error);
  if (!code) code = d->ops->fill(d, at, 0, 4, 1 + THREADS, NULL, &error);
  if (!code) code = d->ops->launch(d, &launch, NULL, &error);
  if (!code) code = d->ops->sync(d, &error);
  if (!code) code = d->ops->download(d, order, at + 4, 4 * THREADS, NULL, &error);
  if (code) fail_msg("%s: %s", spec, error.message);
  pg_device_close(d);
}

static void a_seed_repeats_a_schedule_and_another_one_shuffles_it(void **state) {
  (void)state;
  uint32_t plain[THREADS], once[THREADS], again[THREADS];
  int differ = 0;
  order_of("sim:check,workers=1", plain);
  for (unsigned seed = 1; seed <= 20; seed++) {
    char spec[32];
    snprintf(spec, sizeof spec, "sim:check,seed=%u", seed);
    order_of(spec, once);
    order_of(spec, again);
    assert_memory_equal(once, again, sizeof once);
    differ += memcmp(once, plain, sizeof once) != 0;
    bool seen[THREADS] = {false};
    for (int i = 0; i < THREADS; i++) {
      assert_true(once[i] < THREADS && !seen[once[i]]);
      seen[once[i]] = true;
    }
  }
  assert_true(differ >= 10);
}

static void without_a_driver_cuda_says_so(void **state) {
  (void)state;
  if (pg_driver_present()) skip();
  pg_error error = {0};
  pg_device *device;
  assert_int_equal(pg_device_open("cuda:0", &device, &error), PG_ENVIRONMENT);
  assert_null(device);
  assert_true(error.message[0] != '\0');
  contains(error.hint, "sim:check");
  char why[200] = "";
  assert_int_equal(pg_cuda_count(why, sizeof why), 0);
  assert_true(why[0] != '\0');
  assert_int_equal(pg_cuda_count(NULL, 0), 0);
  assert_string_equal(pg_device_default(), "sim:check");
}

static void hiding_the_gpus_makes_the_simulator_the_default(void **state) {
  (void)state;
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  assert_string_equal(pg_device_default(), "sim:check");
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  assert_string_equal(pg_device_default(), "sim:check");
  unsetenv("CUDA_VISIBLE_DEVICES");
}

static void closing_nothing_is_allowed(void **state) {
  (void)state;
  pg_device_close(NULL);
}

static void faults_have_distinct_names(void **state) {
  (void)state;
  for (int i = PG_FAULT_NONE; i <= PG_FAULT_OTHER; i++) {
    assert_string_not_equal(pg_fault_name((pg_fault_kind)i), "?");
    for (int j = PG_FAULT_NONE; j < i; j++)
      assert_string_not_equal(pg_fault_name((pg_fault_kind)i), pg_fault_name((pg_fault_kind)j));
  }
  assert_string_equal(pg_fault_name(PG_FAULT_OUT_OF_BOUNDS), "out_of_bounds");
  assert_string_equal(pg_fault_name((pg_fault_kind)99), "?");
}

static void the_nearest_name_is_near(void **state) {
  (void)state;
  static const char *const names[] = {"saxpy", "allocate", "update", "update_rays"};
  assert_string_equal(pg_nearest("saxyp", names, 4), "saxpy"); /* neighbours swapped: one edit */
  assert_string_equal(pg_nearest("alocate", names, 4), "allocate");
  assert_string_equal(pg_nearest("updates", names, 4), "update");
  assert_string_equal(pg_nearest("update_ray", names, 4), "update_rays");
  assert_null(pg_nearest("fourier", names, 4));
  assert_null(pg_nearest("x", names, 4));
  assert_null(pg_nearest("saxpy", names, 0));
  char longer[300];
  memset(longer, 'a', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  assert_null(pg_nearest(longer, names, 4));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_unknown_device_suggests_the_nearest),
      cmocka_unit_test(a_number_must_be_a_number),
      cmocka_unit_test(a_simulator_says_how_to_open_it_again),
      cmocka_unit_test(a_bad_option_is_named),
      cmocka_unit_test(a_seed_repeats_a_schedule_and_another_one_shuffles_it),
      cmocka_unit_test(without_a_driver_cuda_says_so),
      cmocka_unit_test(hiding_the_gpus_makes_the_simulator_the_default),
      cmocka_unit_test(closing_nothing_is_allowed),
      cmocka_unit_test(faults_have_distinct_names),
      cmocka_unit_test(the_nearest_name_is_near),
  };
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
