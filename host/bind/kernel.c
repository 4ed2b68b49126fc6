/* Modules, kernels and launches in Lua.
 * kernel:launch{...} checks and packs its arguments each time; kernel:bind{...} does that once and
 * gives a function whose call costs little more than the driver's own. */
#include "device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "value.h"

#define MODULE_META "perigee.module"
#define KERNEL_META "perigee.kernel"
#define BOUND_META "perigee.bound"

typedef struct module {
  pg_lua_device *owner;
  pg_module *module;
} module;

typedef struct bound { /* a launch that is ready to go */
  pg_lua_device *owner;
  pg_launch launch;
  int buffer_count;
  const pg_lua_buffer *buffers[PG_PARAM_MAX]; /* that it passes, alive as long as it is */
  unsigned char params[];
} bound;

typedef struct kernel {
  pg_lua_device *owner;
  pg_kernel *kernel;
  pg_kernel_info info;
  bound *scratch; /* for launch, after this struct */
} kernel;

static const char *const option_names[] = {"grid", "block", "args", "shared", "cooperative", NULL};
enum { GRID, BLOCK, ARGS, SHARED, COOPERATIVE, OPTIONS };

/* What kernel:launch and kernel:bind compare addresses with, instead of looking names up at every
 * launch. It is their first upvalue; its user value keeps the strings alive. */
typedef struct known {
  const void *kernel_meta, *buffer_meta;
  const char *options[OPTIONS];
} known;

static const known *known_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* luaL_testudata with the metatable at hand. */
static void *test_object(lua_State *L, int arg, const void *meta) {
  if (lua_type(L, arg) != LUA_TUSERDATA || !lua_getmetatable(L, arg)) return NULL;
  const void *has = lua_topointer(L, -1);
  lua_pop(L, 1);
  return has == meta ? lua_touserdata(L, arg) : NULL;
}

static size_t bound_bytes(const pg_kernel_info *info) {
  return sizeof(bound) + info->param_bytes +
         8; /* a parameter of unknown size may be written in full */
}

/* ---- modules ---- */

/* dev:load(image [, name]): PTX text or a cubin. Raises syntax (with the line), unsupported. */
int pg_lua_load(lua_State *L) {
  pg_lua_device *device = pg_lua_check_device(L, 1);
  size_t bytes;
  const char *image = pg_lua_check_string(L, 2, &bytes);
  const char *name = lua_isnoneornil(L, 3) ? "module.ptx" : pg_lua_check_string(L, 3, NULL);
  pg_error error;
  module *m = pg_lua_new_object(L, sizeof *m, 1, MODULE_META);
  m->owner = device;
  if (device->device->ops->load(device->device, image, bytes, name, &m->module, &error))
    return pg_lua_raise(L, &error);
  return 1;
}

static module *check_module(lua_State *L, int arg) {
  module *m = luaL_testudata(L, arg, MODULE_META);
  if (!m) pg_lua_argument(L, arg, "module");
  pg_lua_open_device(L, m->owner);
  return m;
}

static int module_gc(lua_State *L) {
  module *m = luaL_checkudata(L, 1, MODULE_META);
  if (m->module && m->owner->device) m->owner->device->ops->unload(m->owner->device, m->module);
  m->module = NULL;
  return 0;
}

/* module:kernels(): names. */
static int module_kernels(lua_State *L) {
  const module *m = check_module(L, 1);
  pg_device *device = m->owner->device;
  lua_newtable(L);
  const char *name;
  for (int i = 0; (name = device->ops->kernel_name(device, m->module, i)); i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* module:kernel(name). Raises not_found with the nearest name. */
static int module_kernel(lua_State *L) {
  const module *m = check_module(L, 1);
  pg_device *device = m->owner->device;
  const char *name = pg_lua_check_string(L, 2, NULL);
  pg_kernel *found;
  pg_kernel_info info;
  pg_error error;
  if (device->ops->kernel(device, m->module, name, &found, &error) ||
      device->ops->kernel_info(device, found, &info, &error))
    return pg_lua_raise(L, &error);
  kernel *k = pg_lua_new_object(L, sizeof *k + bound_bytes(&info), 1, KERNEL_META);
  *k = (kernel){.owner = m->owner, .kernel = found, .info = info, .scratch = (bound *)(k + 1)};
  return 1;
}

static kernel *check_kernel(lua_State *L, int arg) {
  kernel *k = test_object(L, arg, known_of(L)->kernel_meta);
  if (!k) pg_lua_argument(L, arg, "kernel");
  pg_lua_open_device(L, k->owner);
  return k;
}

/* ---- what a parameter is ---- */

enum { DESCRIPTION = 40 };

static void describe(const pg_param *p, char text[DESCRIPTION]) {
  if (p->kind == 'p')
    snprintf(text, DESCRIPTION, "pointer");
  else if (p->kind == 'i' || p->kind == 'f')
    snprintf(text, DESCRIPTION, "%c%u", p->kind, 8 * p->size);
  else if (p->kind == '?' && p->size == 8)
    snprintf(text, DESCRIPTION, "pointer or number of 8 bytes");
  else if (p->kind == '?' && p->size <= 4)
    snprintf(text, DESCRIPTION, "number of %u bytes", p->size);
  else
    snprintf(text, DESCRIPTION, "%u bytes", p->size);
}

static void set_kind(lua_State *L, const pg_param *p) {
  char kind[2] = {p->kind, 0};
  char text[DESCRIPTION];
  describe(p, text);
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, p->offset);
  lua_setfield(L, -2, "offset");
  lua_pushinteger(L, p->size);
  lua_setfield(L, -2, "size");
  lua_pushstring(L, kind);
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, text);
  lua_setfield(L, -2, "text");
}

/* kernel:info(): {name, params = {{offset, size, kind, text}, ...}, param_bytes, registers,
 * local_bytes, shared_bytes, max_threads}; what the device does not know is absent. */
static int kernel_info(lua_State *L) {
  const kernel *k = check_kernel(L, 1);
  const struct {
    const char *name;
    int value;
  } numbers[] = {{"param_bytes", (int)k->info.param_bytes},
                 {"registers", k->info.registers},
                 {"local_bytes", k->info.local_bytes},
                 {"shared_bytes", k->info.shared_bytes},
                 {"max_threads", k->info.max_threads}};
  lua_createtable(L, 0, 7);
  lua_pushstring(L, k->info.name);
  lua_setfield(L, -2, "name");
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i].value < 0) continue;
    lua_pushinteger(L, numbers[i].value);
    lua_setfield(L, -2, numbers[i].name);
  }
  lua_createtable(L, k->info.param_count, 0);
  for (int i = 0; i < k->info.param_count; i++) {
    set_kind(L, &k->info.params[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "params");
  return 1;
}

/* ---- packing arguments ---- */

static int wrong_count(lua_State *L, const pg_kernel_info *info, size_t got) {
  char list[512] = "", one[DESCRIPTION];
  pg_error error;
  size_t used = 0;
  for (int i = 0; i < info->param_count && used + DESCRIPTION + 2 < sizeof list; i++) {
    describe(&info->params[i], one);
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", one);
  }
  pg_fail(&error, PG_LAUNCH, "kernel %s takes %d argument%s (%s), got %zu", info->name,
          info->param_count, info->param_count == 1 ? "" : "s", list, got);
  return pg_lua_raise(L, &error);
}

/* The value on top of the stack does not fit parameter `index`. */
static int wrong_argument(lua_State *L, const pg_kernel_info *info, int index) {
  char expected[DESCRIPTION], got[64];
  pg_error error;
  describe(&info->params[index], expected);
  if (lua_isinteger(L, -1))
    snprintf(got, sizeof got, "%lld", (long long)lua_tointeger(L, -1));
  else if (lua_type(L, -1) == LUA_TNUMBER)
    snprintf(got, sizeof got, "number %.17g", lua_tonumber(L, -1));
  else if (pg_lua_test_array(L, -1))
    snprintf(got, sizeof got, "array");
  else if (pg_lua_test_buffer(L, -1))
    snprintf(got, sizeof got, "buffer");
  else
    snprintf(got, sizeof got, "%s", luaL_typename(L, -1));
  pg_fail(&error, PG_LAUNCH, "argument #%d of kernel %s: expected %s, got %s", index + 1,
          info->name, expected, got);
  if (pg_lua_test_array(L, -1) && info->params[index].size == 8)
    pg_hint(&error, "an array lives on the host: pass dev:upload(array)");
  return pg_lua_raise(L, &error);
}

/* Low bytes of an integer; it must fit as a signed or as an unsigned number of that size. */
static bool put_integer(unsigned char *to, uint32_t size, lua_Integer value) {
  if (size != 1 && size != 2 && size != 4 && size != 8) return false;
  unsigned bits = 8 * size;
  if (size < 8 && (value < -(1LL << (bits - 1)) || value >= 1LL << bits)) return false;
  memcpy(to, &value, size); /* little endian, as the GPU is */
  return true;
}

static bool put_float(unsigned char *to, uint32_t size, double value) {
  float single = (float)value;
  uint16_t half = pg_f64_to_f16(value);
  if (size == 8)
    memcpy(to, &value, 8);
  else if (size == 4)
    memcpy(to, &single, 4);
  else if (size == 2)
    memcpy(to, &half, 2);
  return size == 8 || size == 4 || size == 2;
}

static bool put_number(lua_State *L, unsigned char *to, const pg_param *p) {
  int exact;
  lua_Integer integer = lua_tointegerx(L, -1, &exact);
  if (p->kind == 'f' || (p->kind == '?' && !lua_isinteger(L, -1) && p->size >= 4))
    return put_float(to, p->size, lua_tonumber(L, -1));
  if (p->kind == 'p' && !lua_isinteger(L, -1)) return false; /* an address is an integer */
  if (p->kind == 'b' || !exact) return false;
  return put_integer(to, p->size, integer);
}

static bool put_buffer(lua_State *L, unsigned char *to, const pg_param *p, bound *b,
                       const pg_lua_buffer *buffer) {
  pg_error error;
  if (p->size != 8 || p->kind == 'f' || p->kind == 'b') return false;
  if (buffer->owner != b->owner) {
    pg_fail(&error, PG_INVALID, "the kernel and a buffer passed to it belong to different devices");
    pg_lua_raise(L, &error);
  }
  memcpy(to, &buffer->at, 8);
  b->buffers[b->buffer_count++] = buffer;
  return true;
}

/* A struct, as its bytes. */
static bool put_bytes(unsigned char *to, const pg_param *p, const void *data, size_t bytes) {
  if ((p->kind != 'b' && p->kind != '?') || bytes != p->size) return false;
  memcpy(to, data, bytes);
  return true;
}

/* The value on top of the stack as parameter `index`. */
static void pack(lua_State *L, const pg_kernel_info *info, int index, bound *b) {
  const pg_param *p = &info->params[index];
  unsigned char *to = b->params + p->offset;
  const pg_lua_buffer *buffer;
  const pg_array *array;
  bool fits = false;
  switch (lua_type(L, -1)) {
  case LUA_TNUMBER: fits = put_number(L, to, p); break;
  case LUA_TBOOLEAN:
    fits = (p->kind == 'i' || p->kind == '?') && put_integer(to, p->size, lua_toboolean(L, -1));
    break;
  case LUA_TSTRING: fits = put_bytes(to, p, lua_tostring(L, -1), lua_rawlen(L, -1)); break;
  case LUA_TUSERDATA:
    if ((buffer = test_object(L, -1, known_of(L)->buffer_meta)))
      fits = put_buffer(L, to, p, b, buffer);
    else if ((array = pg_lua_test_array(L, -1)))
      fits = put_bytes(to, p, array->data, array->bytes);
    break;
  default: break;
  }
  if (!fits) wrong_argument(L, info, index);
}

/* The list on top of the stack as the kernel's arguments. */
static void pack_all(lua_State *L, const kernel *k, bound *b) {
  pg_error error;
  if (!lua_istable(L, -1)) {
    pg_fail(&error, PG_INVALID, "option 'args': expected a list, got %s", luaL_typename(L, -1));
    pg_lua_raise(L, &error);
  }
  size_t count = lua_rawlen(L, -1);
  if (count != (size_t)k->info.param_count) wrong_count(L, &k->info, count);
  for (int i = 0; i < k->info.param_count; i++) {
    lua_rawgeti(L, -1, i + 1);
    pack(L, &k->info, i, b);
    lua_pop(L, 1);
  }
}

/* ---- launches ---- */

static int bad_extent(lua_State *L, const char *name, const char *expected) {
  pg_error error;
  pg_fail(&error, PG_INVALID, "option '%s': expected %s, got %s", name, expected,
          luaL_typename(L, -1));
  return pg_lua_raise(L, &error);
}

static uint32_t extent(lua_State *L, const char *name) {
  int exact;
  pg_error error;
  lua_Integer value = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &exact) : 0;
  if (lua_type(L, -1) != LUA_TNUMBER || !exact) {
    bad_extent(L, name, "an integer or a list of up to 3");
  } else if (value < 0 || value > UINT32_MAX) {
    pg_fail(&error, PG_RANGE, "option '%s': %lld is out of range", name, (long long)value);
    pg_lua_raise(L, &error);
  }
  return (uint32_t)value;
}

/* The value on top of the stack, an integer or a list of up to three; absent ones are 1. */
static void extents(lua_State *L, const char *name, uint32_t out[3]) {
  if (!lua_istable(L, -1)) {
    out[0] = extent(L, name);
    return;
  }
  size_t count = lua_rawlen(L, -1);
  if (count < 1 || count > 3) bad_extent(L, name, "1 to 3 integers");
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    out[i] = extent(L, name);
    lua_pop(L, 1);
  }
}

static uint32_t shared_bytes(lua_State *L) {
  pg_error error;
  lua_Integer shared = pg_lua_option_integer(L, 2, "shared", 0);
  if (shared < 0 || shared > UINT32_MAX) {
    pg_fail(&error, PG_RANGE, "option 'shared': %lld bytes", (long long)shared);
    pg_lua_raise(L, &error);
  }
  return (uint32_t)shared;
}

/* Option whose name is the string at -2: short strings exist once in Lua, so addresses tell them
 * apart. */
static int option_at(lua_State *L) {
  const char *const *names = known_of(L)->options;
  const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
  int option = 0;
  while (option < OPTIONS && names[option] != key) option++;
  return option;
}

/* Fill a launch from the table at 2 of a kernel at 1, in one pass: this is the hot path of
 * kernel:launch. */
static void prepare(lua_State *L, const kernel *k, bound *b) {
  bool args = k->info.param_count == 0;
  if (!lua_istable(L, 2)) pg_lua_argument(L, 2, "table {grid=, block=, args={...}}");
  b->owner = k->owner;
  b->buffer_count = 0;
  b->launch = (pg_launch){.kernel = k->kernel,
                          .grid = {1, 1, 1},
                          .block = {1, 1, 1},
                          .params = b->params,
                          .param_bytes = k->info.param_bytes};
  for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
    switch (option_at(L)) {
    case GRID: extents(L, "grid", b->launch.grid); break;
    case BLOCK: extents(L, "block", b->launch.block); break;
    case ARGS: pack_all(L, k, b), args = true; break;
    case SHARED: b->launch.shared = shared_bytes(L); break;
    case COOPERATIVE: b->launch.cooperative = pg_lua_option_boolean(L, 2, "cooperative", 0); break;
    default: pg_lua_check_options(L, 2, option_names); /* raises */
    }
  }
  if (!args) wrong_count(L, &k->info, 0);
}

static int run(lua_State *L, const bound *b) {
  pg_device *device = pg_lua_open_device(L, b->owner);
  pg_error error;
  for (int i = 0; i < b->buffer_count; i++) {
    if (b->buffers[i]->at) continue;
    pg_fail(&error, PG_INVALID, "a buffer passed to this launch was freed");
    return pg_lua_raise(L, &error);
  }
  if (device->ops->launch(device, &b->launch, NULL, &error)) return pg_lua_raise(L, &error);
  return 0;
}

/* kernel:launch{grid = n|{x,y,z}, block = n|{x,y,z}, shared = 0, cooperative = false, args =
 * {...}}: enqueue it. Arguments: buffer or address for a pointer, number, boolean, the bytes of a
 * struct (string or array). Raises launch_error for what does not fit. */
static int kernel_launch(lua_State *L) {
  const kernel *k = check_kernel(L, 1);
  prepare(L, k, k->scratch);
  return run(L, k->scratch);
}

static int call_bound(lua_State *L) {
  return run(L, lua_touserdata(L, lua_upvalueindex(1)));
}

/* kernel:bind{as launch}: a function without arguments that launches it; the arguments are packed
 * now. */
static int kernel_bind(lua_State *L) {
  const kernel *k = check_kernel(L, 1);
  bound *b = pg_lua_new_object(L, bound_bytes(&k->info), 1, BOUND_META);
  prepare(L, k, b);
  /* What the launch refers to stays alive with it: the kernel and its buffers. */
  lua_createtable(L, 1, 1);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  if (lua_getfield(L, 2, "args") == LUA_TTABLE) {
    for (int i = 1; i <= k->info.param_count; i++) {
      lua_rawgeti(L, -1, i);
      lua_rawseti(L, -3, i + 1);
    }
  }
  lua_pop(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushcclosure(L, call_bound, 1);
  return 1;
}

/* With the kernels' metatable on top of the stack: push what its methods know. */
static void push_known(lua_State *L) {
  known *k = lua_newuserdatauv(L, sizeof *k, 1);
  k->kernel_meta = lua_topointer(L, -2);
  luaL_getmetatable(L, PG_BUFFER_META);
  k->buffer_meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  lua_createtable(L, OPTIONS, 0);
  for (int i = 0; i < OPTIONS; i++) {
    k->options[i] = lua_pushstring(L, option_names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setiuservalue(L, -2, 1);
}

void pg_bind_kernel(lua_State *L) {
  static const luaL_Reg module_methods[] = {
      {"kernel", module_kernel}, {"kernels", module_kernels}, {NULL, NULL}};
  static const luaL_Reg module_metamethods[] = {{"__gc", module_gc}, {NULL, NULL}};
  static const luaL_Reg kernel_methods[] = {
      {"launch", kernel_launch}, {"bind", kernel_bind}, {"info", kernel_info}, {NULL, NULL}};
  static const luaL_Reg nothing[] = {{NULL, NULL}};
  pg_lua_make_meta(L, MODULE_META, module_methods, module_metamethods);
  pg_lua_make_meta(L, BOUND_META, NULL, nothing);
  luaL_newmetatable(L, KERNEL_META);
  push_known(L);
  luaL_newlibtable(L, kernel_methods);
  lua_insert(L, -2);
  luaL_setfuncs(L, kernel_methods, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
