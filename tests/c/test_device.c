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
      cmocka_unit_test(without_a_driver_cuda_says_so),
      cmocka_unit_test(hiding_the_gpus_makes_the_simulator_the_default),
      cmocka_unit_test(closing_nothing_is_allowed),
      cmocka_unit_test(faults_have_distinct_names),
      cmocka_unit_test(the_nearest_name_is_near),
  };
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
