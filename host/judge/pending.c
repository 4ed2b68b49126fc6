/* Weak stand-ins for the parts of device.h that are being written, so that the workers can be used
 * before. This file goes when host/device.c arrives, whose definitions win meanwhile. */
#include <string.h>

#include "../device.h"

__attribute__((weak)) const char *pg_fault_name(pg_fault_kind kind) {
  static const char *const names[] = {"none",     "out_of_bounds", "misaligned", "uninitialized",
                                      "race",     "trap",          "timeout",    "read_only",
                                      "deadlock", "other"};
  return (unsigned)kind <= PG_FAULT_OTHER ? names[kind] : "other";
}

__attribute__((weak)) pg_code pg_device_open(const char *spec, pg_device **out, pg_error *error) {
  *out = NULL;
  return pg_fail(error, PG_NOT_FOUND, "there is no device %s", spec);
}

__attribute__((weak)) pg_code pg_compile(const pg_compile_request *request,
                                         pg_compile_result *result, pg_error *error) {
  (void)request;
  memset(result, 0, sizeof *result);
  return pg_fail(error, PG_ENVIRONMENT, "there is no compiler yet");
}

__attribute__((weak)) void pg_compile_free(pg_compile_result *result) {
  memset(result, 0, sizeof *result);
}
