/* Helpers of the simulator's tests: a device, buffers, launches. Closing the device frees all. */
#ifndef SIM_TESTS_H
#define SIM_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"

static struct {
  pg_device *device;
  pg_module *module;
  pg_error error;
} sim;

static inline const pg_device_ops *ops(void) {
  return sim.device->ops;
}

static inline void ok(pg_code code) {
  if (code) fail_msg("%s: %s (%s)", pg_code_name(code), sim.error.message, sim.error.where);
}

static inline void sim_open(pg_sim_mode mode, int workers, const char *path) {
  pg_sim_options options = {.mode = mode, .workers = workers, .seed = 1, .limit_s = 20};
  ok(pg_sim_open(&options, &sim.device, &sim.error));
  if (!path) return;
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = calloc(1, 4 << 20);
  size_t bytes = fread(text, 1, (4 << 20) - 1, f);
  fclose(f);
  ok(ops()->load(sim.device, text, bytes, path, &sim.module, &sim.error));
  free(text);
}

static inline int sim_open_empty(void **state) {
  (void)state;
  sim_open(PG_SIM_PLAIN, 1, NULL);
  return 0;
}

static inline int sim_close(void **state) {
  (void)state;
  if (sim.device) ops()->close(sim.device);
  memset(&sim, 0, sizeof sim);
  return 0;
}

static const char SIM_HEADER[] = ".version 9.0\n.target sm_90\n.address_size 64\n";

static inline pg_code sim_try(const char *body) {
  size_t bytes = strlen(body) + sizeof SIM_HEADER;
  char *text = malloc(bytes);
  assert_non_null(text);
  snprintf(text, bytes, "%s%s", SIM_HEADER, body);
  pg_code code = ops()->load(sim.device, text, bytes - 1, "t.ptx", &sim.module, &sim.error);
  free(text);
  return code;
}

static inline void sim_load(const char *body) {
  ok(sim_try(body));
}

static inline void expect_load_error(const char *body, const char *part) {
  assert_int_not_equal(sim_try(body), PG_OK);
  if (!strstr(sim.error.message, part)) fail_msg("'%s' has no '%s'", sim.error.message, part);
}

static inline pg_ptr put(const void *data, size_t bytes, const char *name) {
  pg_ptr at;
  ok(ops()->alloc(sim.device, bytes, &at, &sim.error));
  ok(ops()->name(sim.device, at, bytes, name, false, &sim.error));
  if (data)
    ok(ops()->upload(sim.device, at, data, bytes, NULL, &sim.error));
  else
    ok(ops()->fill(sim.device, at, 0, 1, bytes, NULL, &sim.error));
  return at;
}

static inline void get(void *data, pg_ptr at, size_t bytes) {
  ok(ops()->download(sim.device, data, at, bytes, NULL, &sim.error));
}

typedef struct args {
  uint8_t bytes[256];
  size_t used;
} args;

static inline args and_bytes(args a, const void *value, size_t bytes) {
  a.used = (a.used + bytes - 1) / bytes * bytes;
  memcpy(a.bytes + a.used, value, bytes);
  a.used += bytes;
  return a;
}
static inline args with(int count, ...) { /* pointers */
  args a = {.used = 0};
  va_list list;
  va_start(list, count);
  for (int i = 0; i < count; i++) {
    pg_ptr p = va_arg(list, pg_ptr);
    a = and_bytes(a, &p, sizeof p);
  }
  va_end(list);
  return a;
}
static inline args and_int(args a, int v) {
  return and_bytes(a, &v, sizeof v);
}

static inline pg_code launch(const char *name, uint32_t grid, uint32_t block, uint32_t shared,
                             args a) {
  pg_launch l = {.grid = {grid, 1, 1},
                 .block = {block, 1, 1},
                 .shared = shared,
                 .params = a.bytes,
                 .param_bytes = a.used};
  ok(ops()->kernel(sim.device, sim.module, name, &l.kernel, &sim.error));
  return ops()->launch(sim.device, &l, NULL, &sim.error);
}

static inline pg_fault fault(void) {
  pg_fault f;
  ops()->fault(sim.device, &f);
  return f;
}

#endif
