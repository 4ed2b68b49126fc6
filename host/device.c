/* Devices by name: "auto", "cuda:N", "sim", "sim:check", "sim:profile". */
#include "device.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda.h"
#include "cuda/driver.h"
#include "nearest.h"
#include "sim/sim.h"

static const char known_devices[] =
    "auto, cuda, cuda:0 (or another number), sim, sim:check, sim:profile";

static pg_code unknown_device(const char *spec, pg_error *error) {
  static const char *const names[] = {"auto", "cuda", "cuda:0", "sim", "sim:check", "sim:profile"};
  pg_fail(error, PG_NOT_FOUND, "unknown device \"%.64s\"", spec);
  const char *near = pg_nearest(spec, names, sizeof names / sizeof *names);
  return near ? pg_hint(error, "did you mean %s? Devices: %s", near, known_devices)
              : pg_hint(error, "devices: %s", known_devices);
}

/* The number of "cuda:N"; -1 when it is none. */
static int ordinal_of(const char *digits) {
  if (!isdigit((unsigned char)digits[0])) return -1;
  char *end;
  long ordinal = strtol(digits, &end, 10);
  return *end == '\0' && ordinal <= INT_MAX ? (int)ordinal : -1;
}

static pg_code open_sim(pg_sim_mode mode, pg_device **out, pg_error *error) {
  pg_sim_options options = {.mode = mode};
  return pg_sim_open(&options, out, error);
}

const char *pg_device_default(void) {
  return pg_driver_present() ? "cuda:0" : "sim:check";
}

pg_code pg_device_open(const char *spec, pg_device **out, pg_error *error) {
  *out = NULL;
  if (!spec || !strcmp(spec, "auto")) spec = pg_device_default();
  if (!strcmp(spec, "sim")) return open_sim(PG_SIM_PLAIN, out, error);
  if (!strcmp(spec, "sim:check")) return open_sim(PG_SIM_CHECK, out, error);
  if (!strcmp(spec, "sim:profile")) return open_sim(PG_SIM_PROFILE, out, error);
  if (!strcmp(spec, "cuda")) return pg_cuda_open(0, out, error);
  if (!strncmp(spec, "cuda:", 5) && ordinal_of(spec + 5) >= 0)
    return pg_cuda_open(ordinal_of(spec + 5), out, error);
  return unknown_device(spec, error);
}

void pg_device_close(pg_device *device) {
  if (device) device->ops->close(device);
}

const char *pg_fault_name(pg_fault_kind kind) {
  static const char *const names[] = {
      [PG_FAULT_NONE] = "none",
      [PG_FAULT_OUT_OF_BOUNDS] = "out_of_bounds",
      [PG_FAULT_MISALIGNED] = "misaligned",
      [PG_FAULT_UNINITIALIZED] = "uninitialized_read",
      [PG_FAULT_RACE] = "race",
      [PG_FAULT_TRAP] = "trap",
      [PG_FAULT_TIMEOUT] = "timeout",
      [PG_FAULT_READ_ONLY] = "read_only",
      [PG_FAULT_DEADLOCK] = "deadlock",
      [PG_FAULT_OTHER] = "other",
      [PG_FAULT_DIVERGENCE] = "divergence",
      [PG_FAULT_WEAK_READ] = "weak_read",
      [PG_FAULT_INACTIVE_LANE] = "inactive_lane",
      [PG_FAULT_INCOMPLETE] = "incomplete",
  };
  return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
