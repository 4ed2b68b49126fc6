/* Devices and events in Lua.
 * What fails raises an error table; a kernel that faulted is also told by dev:fault(). */
#include "device.h"

#include <string.h>

#include "value.h"

#define EVENT_META "perigee.event"

typedef struct event {
  pg_lua_device *owner;
  pg_event *event;
} event;

/* ---- shared by this binding's files ---- */

pg_device *pg_lua_open_device(lua_State *L, const pg_lua_device *owner) {
  if (!owner->device) {
    pg_error error;
    pg_fail(&error, PG_INVALID, "the device is closed");
    pg_lua_raise(L, &error);
  }
  return owner->device;
}

pg_lua_device *pg_lua_check_device(lua_State *L, int arg) {
  pg_lua_device *device = luaL_testudata(L, arg, PG_DEVICE_META);
  if (!device) pg_lua_argument(L, arg, "device");
  pg_lua_open_device(L, device);
  return device;
}

void *pg_lua_new_object(lua_State *L, size_t bytes, int keep, const char *meta) {
  keep = lua_absindex(L, keep);
  void *object = lua_newuserdatauv(L, bytes, 1);
  memset(object, 0, bytes);
  lua_pushvalue(L, keep);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, meta);
  return object;
}

void pg_lua_make_meta(lua_State *L, const char *meta, const luaL_Reg *methods,
                      const luaL_Reg *metamethods) {
  luaL_newmetatable(L, meta);
  luaL_setfuncs(L, metamethods, 0);
  if (methods) {
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
  }
  lua_pop(L, 1);
}

/* ---- devices ---- */

static void set_triple(lua_State *L, const char *name, const uint32_t value[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, value[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_string(lua_State *L, const char *name, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

static void set_boolean(lua_State *L, const char *name, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

/* Each simulator device reserves a terabyte of addresses: those that nobody refers to any more are
 * closed by the collector alone. */
static pg_code open_device(lua_State *L, const char *spec, pg_lua_device *device, pg_error *error) {
  pg_code code = pg_device_open(spec, &device->device, error);
  if (code != PG_MEMORY) return code;
  lua_gc(L, LUA_GCCOLLECT);
  return pg_device_open(spec, &device->device, error);
}

/* core.device([spec = "auto"]): open one. Raises not_found (the hint names the nearest),
 * environment. */
static int core_device(lua_State *L) {
  pg_error error;
  size_t length = 0;
  const char *spec = lua_isnoneornil(L, 1) ? NULL : pg_lua_check_string(L, 1, &length);
  if (spec && strlen(spec) != length) pg_lua_argument(L, 1, "name without a zero byte");
  pg_lua_device *device = lua_newuserdatauv(L, sizeof *device, 0);
  device->device = NULL;
  luaL_setmetatable(L, PG_DEVICE_META);
  if (open_device(L, spec, device, &error)) return pg_lua_raise(L, &error);
  return 1;
}

static int core_default_device(lua_State *L) {
  lua_pushstring(L, pg_device_default());
  return 1;
}

/* core.cuda_count(): number of GPUs; when it is 0, also why. */
static int core_cuda_count(lua_State *L) {
  char why[256] = "";
  lua_pushinteger(L, pg_cuda_count(why, sizeof why));
  lua_pushstring(L, why);
  return 2;
}

static int device_close(lua_State *L) {
  pg_lua_device *device = luaL_testudata(L, 1, PG_DEVICE_META);
  if (!device) return pg_lua_argument(L, 1, "device");
  pg_device_close(device->device);
  device->device = NULL;
  return 0;
}

/* dev:info(): the fields of pg_device_info. */
static int device_info(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  pg_device_info info;
  pg_error error;
  if (device->device->ops->info(device->device, &info, &error)) return pg_lua_raise(L, &error);
  lua_createtable(L, 0, 15);
  set_string(L, "spec", info.spec);
  set_string(L, "kind", info.kind);
  set_string(L, "name", info.name);
  set_string(L, "driver", info.driver);
  pg_lua_set_integer(L, "cc_major", info.cc_major);
  pg_lua_set_integer(L, "cc_minor", info.cc_minor);
  pg_lua_set_integer(L, "multiprocessors", info.multiprocessors);
  pg_lua_set_integer(L, "max_threads_per_block", info.max_threads_per_block);
  set_triple(L, "max_grid", info.max_grid);
  set_triple(L, "max_block", info.max_block);
  pg_lua_set_integer(L, "shared_per_block", (lua_Integer)info.shared_per_block);
  pg_lua_set_integer(L, "shared_per_block_optin", (lua_Integer)info.shared_per_block_optin);
  pg_lua_set_integer(L, "l2_bytes", (lua_Integer)info.l2_bytes);
  pg_lua_set_integer(L, "memory_bytes", (lua_Integer)info.memory_bytes);
  pg_lua_set_number(L, "memory_gbs", info.memory_gbs);
  set_boolean(L, "gpu_clock", info.gpu_clock);
  return 1;
}

/* dev:sync(): wait for all kernels. Raises launch_error or timeout when one faulted; dev:fault()
 * says more. */
static int device_sync(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  pg_error error;
  if (device->device->ops->sync(device->device, &error)) return pg_lua_raise(L, &error);
  return 0;
}

static void set_fault_place(lua_State *L, const pg_fault *fault) {
  set_triple(L, "block", fault->block);
  set_triple(L, "thread", fault->thread);
  if (fault->file[0]) set_string(L, "file", fault->file);
  if (fault->line > 0) pg_lua_set_integer(L, "line", fault->line);
  if (fault->ptx_line > 0) pg_lua_set_integer(L, "ptx_line", fault->ptx_line);
  set_string(L, "instruction", fault->instruction);
  pg_lua_set_integer(L, "address", (lua_Integer)fault->address);
  pg_lua_set_integer(L, "access_bytes", fault->access_bytes);
  set_string(L, "space", fault->space);
  if (fault->allocation[0]) {
    set_string(L, "allocation", fault->allocation);
    pg_lua_set_integer(L, "allocation_base", (lua_Integer)fault->allocation_base);
    pg_lua_set_integer(L, "allocation_bytes", (lua_Integer)fault->allocation_bytes);
    pg_lua_set_integer(L, "distance", fault->distance);
  }
}

static void push_fault(lua_State *L, const pg_fault *fault) {
  lua_createtable(L, 0, 20);
  set_string(L, "kind", pg_fault_name(fault->kind));
  set_string(L, "kernel", fault->kernel);
  set_string(L, "text", fault->text);
  set_boolean(L, "located", fault->located);
  if (fault->located) set_fault_place(L, fault);
}

/* dev:fault(): why the last kernel stopped, {kind, kernel, text, ...}, or nil. */
static int device_fault(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  pg_fault fault;
  device->device->ops->fault(device->device, &fault);
  if (fault.kind == PG_FAULT_NONE) return 0;
  push_fault(L, &fault);
  return 1;
}

/* dev:findings([reset]): what sim:check found, one a cause: a list of tables like dev:fault()'s,
 * with `times`, and of a race `other_line`, `other_file`, `other_thread`, `other_block`. */
static int device_findings(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  lua_newtable(L);
  if (!device->device->ops->findings) return 1;
  pg_fault *list = lua_newuserdatauv(L, PG_FINDING_MAX * sizeof *list, 0);
  int n = device->device->ops->findings(device->device, list, PG_FINDING_MAX, lua_toboolean(L, 2));
  for (int i = 0; i < n; i++) {
    push_fault(L, &list[i]);
    pg_lua_set_integer(L, "times", (lua_Integer)list[i].times);
    if (list[i].other_ptx_line) {
      set_triple(L, "other_block", list[i].other_block);
      set_triple(L, "other_thread", list[i].other_thread);
      set_string(L, "other_file", list[i].other_file);
      pg_lua_set_integer(L, "other_line", list[i].other_line);
    }
    lua_rawseti(L, -3, i + 1);
  }
  lua_pop(L, 1);
  return 1;
}

/* dev:counters([reset]): what the simulator counted, by name; .complete says whether in full. */
static int device_counters(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  pg_counters counters;
  device->device->ops->counters(device->device, &counters, lua_toboolean(L, 2));
  lua_createtable(L, 0, 20);
#define PG_X(name, text) pg_lua_set_integer(L, #name, (lua_Integer)counters.name);
  PG_COUNTERS(PG_X)
#undef PG_X
  set_boolean(L, "complete", counters.complete);
  return 1;
}

/* dev:limit(seconds): wall-clock limit of a kernel on the simulator; 0 for none. */
static int device_limit(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  double seconds = pg_lua_check_number(L, 2);
  if (!(seconds >= 0)) return pg_lua_argument(L, 2, "seconds, 0 or more");
  device->device->ops->limit(device->device, seconds);
  return 0;
}

static void set_known(lua_State *L, const char *name, long long value) {
  if (value >= 0) pg_lua_set_integer(L, name, (lua_Integer)value);
}

/* dev:health(): {sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, throttle_reasons}; what
 * is not known is absent. */
static int device_health(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  pg_health health;
  device->device->ops->health(device->device, &health);
  lua_createtable(L, 0, 5);
  set_known(L, "sm_clock_mhz", health.sm_clock_mhz);
  set_known(L, "memory_clock_mhz", health.memory_clock_mhz);
  set_known(L, "temperature_c", health.temperature_c);
  set_known(L, "power_mw", health.power_mw);
  set_known(L, "throttle_reasons", health.throttle_reasons);
  return 1;
}

/* ---- events ---- */

static event *check_event(lua_State *L, int arg) {
  event *e = luaL_testudata(L, arg, EVENT_META);
  if (!e) pg_lua_argument(L, arg, "event");
  pg_lua_open_device(L, e->owner);
  return e;
}

static int device_event(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  pg_error error;
  event *e = pg_lua_new_object(L, sizeof *e, 1, EVENT_META);
  e->owner = device;
  if (device->device->ops->event_new(device->device, &e->event, &error))
    return pg_lua_raise(L, &error);
  return 1;
}

static int event_record(lua_State *L) {
  event *e = check_event(L, 1);
  pg_device *device = e->owner->device;
  pg_error error;
  if (device->ops->event_record(device, e->event, NULL, &error)) return pg_lua_raise(L, &error);
  return 0;
}

/* start:elapsed(stop): microseconds between two recorded events; waits for stop. */
static int event_elapsed(lua_State *L) {
  event *start = check_event(L, 1), *stop = check_event(L, 2);
  pg_device *device = start->owner->device;
  pg_error error;
  double us;
  if (stop->owner != start->owner) return pg_lua_argument(L, 2, "event of the same device");
  if (device->ops->event_elapsed(device, start->event, stop->event, &us, &error))
    return pg_lua_raise(L, &error);
  lua_pushnumber(L, us);
  return 1;
}

static int event_gc(lua_State *L) {
  event *e = luaL_checkudata(L, 1, EVENT_META);
  if (e->event && e->owner->device) e->owner->device->ops->event_free(e->owner->device, e->event);
  e->event = NULL;
  return 0;
}

/* ---- the module ---- */

void pg_bind_device(lua_State *L) {
  static const luaL_Reg functions[] = {{"device", core_device},
                                       {"default_device", core_default_device},
                                       {"cuda_count", core_cuda_count},
                                       {NULL, NULL}};
  static const luaL_Reg methods[] = {{"close", device_close},
                                     {"info", device_info},
                                     {"load", pg_lua_load},
                                     {"sync", device_sync},
                                     {"event", device_event},
                                     {"fault", device_fault},
                                     {"findings", device_findings},
                                     {"limit", device_limit},
                                     {"counters", device_counters},
                                     {"health", device_health},
                                     {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
      {"__gc", device_close}, {"__close", device_close}, {NULL, NULL}};
  static const luaL_Reg event_methods[] = {
      {"record", event_record}, {"elapsed", event_elapsed}, {NULL, NULL}};
  static const luaL_Reg event_metamethods[] = {{"__gc", event_gc}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  pg_lua_make_meta(L, PG_DEVICE_META, methods, metamethods);
  pg_lua_make_meta(L, EVENT_META, event_methods, event_metamethods);
  pg_bind_buffer(L);
  pg_bind_kernel(L);
  pg_bind_compile(L);
}
