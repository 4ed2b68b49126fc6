/* Devices by name: "auto", "cuda:N", "sim", "sim:check", "sim:profile"; and the options that may
 * follow a simulator's name. */
#include "device.h"

#include <ctype.h>
#include <errno.h>
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

/* ---- the simulator ---- */

enum { WORKERS_MOST = 256 };

static bool parse_number(const char *text, size_t length, unsigned long long *out) {
  char *end;
  if (length == 0 || !isdigit((unsigned char)text[0])) return false; /* strtoull takes signs */
  errno = 0;
  *out = strtoull(text, &end, 10);
  return errno == 0 && end == text + length;
}

/* One "name=value" of `length` bytes. */
static pg_code parse_option(const char *text, size_t length, pg_sim_options *options,
                            pg_error *error) {
  unsigned long long value;
  bool workers = !strncmp(text, "workers=", 8), seed = !strncmp(text, "seed=", 5);
  size_t name = workers ? 8 : 5;
  bool number = (workers || seed) && parse_number(text + name, length - name, &value);
  if (number && seed) {
    options->seed = value;
  } else if (number && value >= 1 && value <= WORKERS_MOST) {
    options->workers = (int)value;
  } else {
    pg_fail(error, PG_RANGE, "option \"%.*s\" of the simulator: expected workers=1 to %d or seed=N",
            (int)(length < 64 ? length : 64), text, WORKERS_MOST);
    return pg_hint(error, "for example sim:check,seed=7");
  }
  return PG_OK;
}

/* `rest` is "" or ",seed=7,workers=1". A seed is there to repeat a schedule, which takes one
 * worker.
 */
static pg_code open_sim(pg_sim_mode mode, const char *rest, pg_device **out, pg_error *error) {
  pg_sim_options options = {.mode = mode};
  pg_code code = PG_OK;
  bool seeded = strstr(rest, ",seed=") != NULL;
  while (!code && *rest == ',') {
    size_t length = strcspn(rest + 1, ",");
    code = parse_option(rest + 1, length, &options, error);
    rest += 1 + length;
  }
  if (code) return code;
  if (seeded && options.workers == 0) options.workers = 1;
  return pg_sim_open(&options, out, error);
}

static const struct {
  const char *name;
  pg_sim_mode mode;
} simulators[] = {
    {"sim", PG_SIM_PLAIN}, {"sim:check", PG_SIM_CHECK}, {"sim:profile", PG_SIM_PROFILE}};

/* ---- all ---- */

const char *pg_device_default(void) {
  return pg_driver_present() ? "cuda:0" : "sim:check";
}

pg_code pg_device_open(const char *spec, pg_device **out, pg_error *error) {
  *out = NULL;
  if (!spec || !strcmp(spec, "auto")) spec = pg_device_default();
  size_t name = strcspn(spec, ",");
  for (size_t i = 0; i < sizeof simulators / sizeof *simulators; i++)
    if (strlen(simulators[i].name) == name && !strncmp(spec, simulators[i].name, name))
      return open_sim(simulators[i].mode, spec + name, out, error);
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
      [PG_FAULT_WEAK_WRITE] = "weak_write",
      [PG_FAULT_EDGE_READ] = "edge_read",
      [PG_FAULT_INACTIVE_LANE] = "inactive_lane",
      [PG_FAULT_INCOMPLETE] = "incomplete",
  };
  return (size_t)kind < sizeof names / sizeof *names ? names[kind] : "?";
}
