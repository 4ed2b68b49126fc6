/* What a launch costs on the host: a bare C loop over cuLaunchKernel, the device interface from C,
 * and Lua through kernel:bind and kernel:launch (bench_launch.lua), all with the same empty kernel
 * of four parameters. Batches are short enough for the driver's queue, in random order, in one
 * process; medians are compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

#include "bind/bind.h"
#include "cuda/driver.h"
#include "device.h"

enum { BATCH = 400, ROUNDS = 300, WAYS = 4 };

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry empty(\n"
    "  .param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n\n"
    ")\n{\n  .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [x];\n  cvta.to.global.u64 %rd2, %rd1;\n  ret;\n}\n";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
  printf("bench_launch: %s\n", what);
  exit(3);
}

/* ---- the bare loop, with the driver's functions and nothing else ---- */

typedef struct bare {
  pg_driver driver;
  CUcontext context;
  CUfunction function;
  CUdeviceptr x, y;
} bare;

static void bare_open(bare *b) {
  pg_error error;
  CUdevice device;
  CUmodule module;
  if (pg_driver_open(&b->driver, &error)) die(error.message);
  if (b->driver.DeviceGet(&device, 0) || b->driver.DevicePrimaryCtxRetain(&b->context, device) ||
      b->driver.CtxSetCurrent(b->context) ||
      b->driver.ModuleLoadDataEx(&module, ptx, 0, NULL, NULL) ||
      b->driver.ModuleGetFunction(&b->function, module, "empty") ||
      b->driver.MemAlloc(&b->x, 4096) || b->driver.MemAlloc(&b->y, 4096))
    die("the bare loop could not be set up");
}

static double bare_run(bare *b) {
  float a = 2;
  int n = 1024;
  void *params[] = {&b->x, &b->y, &a, &n};
  b->driver.CtxSetCurrent(b->context);
  double start = now();
  for (int i = 0; i < BATCH; i++)
    if (b->driver.LaunchKernel(b->function, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL))
      die("a bare launch failed");
  double seconds = now() - start;
  b->driver.CtxSynchronize();
  return seconds * 1e9 / BATCH;
}

/* ---- the device interface ---- */

typedef struct ours {
  pg_device *device;
  pg_launch launch;
  struct {
    pg_ptr x, y;
    float a;
    int n;
  } params;
} ours;

static void ours_open(ours *o) {
  pg_error error;
  pg_module *module;
  if (pg_device_open("cuda:0", &o->device, &error)) die(error.message);
  const pg_device_ops *ops = o->device->ops;
  if (ops->load(o->device, ptx, sizeof ptx - 1, "empty.ptx", &module, &error) ||
      ops->kernel(o->device, module, "empty", &o->launch.kernel, &error) ||
      ops->alloc(o->device, 4096, &o->params.x, &error) ||
      ops->alloc(o->device, 4096, &o->params.y, &error))
    die(error.message);
  o->params.a = 2;
  o->params.n = 1024;
  for (int i = 0; i < 3; i++) o->launch.grid[i] = o->launch.block[i] = 1;
  o->launch.block[0] = 32;
  o->launch.params = &o->params;
  o->launch.param_bytes = sizeof o->params;
}

static double ours_run(ours *o) {
  pg_error error;
  double start = now();
  for (int i = 0; i < BATCH; i++)
    if (o->device->ops->launch(o->device, &o->launch, NULL, &error)) die(error.message);
  double seconds = now() - start;
  o->device->ops->sync(o->device, &error);
  return seconds * 1e9 / BATCH;
}

/* ---- Lua ---- */

static lua_State *lua_open(const char *script) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "perigee.core", luaopen_perigee_core, 0);
  lua_settop(L, 0);
  if (luaL_loadfile(L, script)) die(lua_tostring(L, -1));
  lua_pushstring(L, ptx);
  if (lua_pcall(L, 1, 1, 0)) die(luaL_tolstring(L, -1, NULL));
  return L; /* the measuring function is at 1 */
}

static double lua_run(lua_State *L, const char *how) {
  lua_pushvalue(L, 1);
  lua_pushstring(L, how);
  lua_pushinteger(L, BATCH);
  if (lua_pcall(L, 2, 1, 0)) die(luaL_tolstring(L, -1, NULL));
  double ns = lua_tonumber(L, -1);
  lua_settop(L, 1);
  return ns;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  static const char *const names[WAYS] = {"bare C loop over cuLaunchKernel",
                                          "device interface from C", "Lua, kernel:bind",
                                          "Lua, kernel:launch"};
  static double ns[WAYS][ROUNDS];
  bare b = {0};
  ours o = {0};
  bare_open(&b);
  ours_open(&o);
  lua_State *L = lua_open(argc > 1 ? argv[1] : "tests/gpu/bench_launch.lua");
  unsigned random = 12345;
  for (int round = -10; round < ROUNDS; round++) { /* the first ten warm up */
    random = random * 1664525u + 1013904223u;
    for (int i = 0; i < WAYS; i++) {
      int way = (int)((random >> 16) + (unsigned)i) % WAYS;
      double t = way == 0   ? bare_run(&b)
                 : way == 1 ? ours_run(&o)
                 : way == 2 ? lua_run(L, "bind")
                            : lua_run(L, "launch");
      if (round >= 0) ns[way][round] = t;
    }
  }
  for (int way = 0; way < WAYS; way++) qsort(ns[way], ROUNDS, sizeof ns[way][0], ascending);
  for (int way = 0; way < WAYS; way++)
    printf("%-32s %7.1f ns a launch, ratio %.3f\n", names[way], ns[way][ROUNDS / 2],
           ns[way][ROUNDS / 2] / ns[0][ROUNDS / 2]);
  double ratio = ns[2][ROUNDS / 2] / ns[0][ROUNDS / 2];
  printf("%d passed, %d failed\n", ratio <= 1.15,
         ratio > 1.15); /* what README promises of kernel:bind */
  lua_close(L);
  pg_device_close(o.device);
  return ratio > 1.15;
}
