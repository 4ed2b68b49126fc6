/* Buffers in Lua: device memory that remembers what was uploaded to it. */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "value.h"

pg_lua_buffer *pg_lua_test_buffer(lua_State *L, int arg) {
  return luaL_testudata(L, arg, PG_BUFFER_META);
}

/* The buffer at `arg`, alive on an open device. */
static pg_lua_buffer *check_buffer(lua_State *L, int arg) {
  pg_lua_buffer *buffer = pg_lua_test_buffer(L, arg);
  if (!buffer) pg_lua_argument(L, arg, "buffer");
  pg_lua_open_device(L, buffer->owner);
  if (!buffer->at) pg_lua_argument(L, arg, "buffer that was not freed");
  return buffer;
}

static void remember(pg_lua_buffer *buffer, const pg_array *array) {
  buffer->typed = true;
  buffer->dtype = array->dtype;
  buffer->ndim = array->ndim;
  memcpy(buffer->shape, array->shape, sizeof buffer->shape);
}

/* Memory is short: buffers that nobody refers to any more are only freed by the collector. */
static pg_code allocate(lua_State *L, pg_device *device, size_t bytes, pg_ptr *at,
                        pg_error *error) {
  pg_code code = device->ops->alloc(device, bytes, at, error);
  if (code != PG_MEMORY) return code;
  lua_gc(L, LUA_GCCOLLECT);
  return device->ops->alloc(device, bytes, at, error);
}

/* Push a new buffer of the device at 1; its name, for messages and faults, is argument `name`. */
static pg_lua_buffer *new_buffer(lua_State *L, size_t bytes, int name) {
  pg_lua_device *owner = pg_lua_check_device(L, 1);
  pg_device *device = owner->device;
  const char *text = lua_isnoneornil(L, name) ? NULL : pg_lua_check_string(L, name, NULL);
  pg_error error;
  pg_lua_buffer *buffer = pg_lua_new_object(L, sizeof *buffer, 1, PG_BUFFER_META);
  buffer->owner = owner;
  buffer->bytes = bytes;
  pg_code code = allocate(L, device, bytes, &buffer->at, &error);
  if (!code && text) code = device->ops->name(device, buffer->at, bytes, text, false, &error);
  if (code) pg_lua_raise(L, &error);
  return buffer;
}

/* dev:alloc(bytes [, name]): uninitialised memory. Raises out_of_memory, range. */
static int device_alloc(lua_State *L) {
  pg_lua_check_device(L, 1);
  lua_Integer bytes = pg_lua_check_integer(L, 2);
  if (bytes <= 0) return pg_lua_argument(L, 2, "number of bytes above 0");
  new_buffer(L, (size_t)bytes, 3);
  return 1;
}

static void upload(lua_State *L, const pg_lua_buffer *buffer, const pg_array *array) {
  pg_device *device = buffer->owner->device;
  pg_error error;
  if (device->ops->upload(device, buffer->at, array->data, array->bytes, NULL, &error))
    pg_lua_raise(L, &error);
}

/* dev:upload(array [, name]): a new buffer with the array's bytes, dtype and shape. */
static int device_upload(lua_State *L) {
  pg_lua_check_device(L, 1);
  const pg_array *array = pg_lua_check_array(L, 2, -1);
  if (array->bytes == 0) return pg_lua_argument(L, 2, "array that is not empty");
  pg_lua_buffer *buffer = new_buffer(L, array->bytes, 3);
  upload(L, buffer, array);
  remember(buffer, array);
  return 1;
}

static void check_size(lua_State *L, const pg_lua_buffer *buffer, const pg_array *array) {
  pg_error error;
  if (array->bytes == buffer->bytes) return;
  pg_fail(&error, PG_RANGE, "the array has %zu bytes, the buffer %zu", array->bytes, buffer->bytes);
  pg_lua_raise(L, &error);
}

/* buffer:upload(array): overwrite it; the array must have as many bytes. */
static int buffer_upload(lua_State *L) {
  pg_lua_buffer *buffer = check_buffer(L, 1);
  const pg_array *array = pg_lua_check_array(L, 2, -1);
  check_size(L, buffer, array);
  upload(L, buffer, array);
  remember(buffer, array);
  lua_settop(L, 1);
  return 1;
}

/* buffer:download([array]): into the array, or a new one of the uploaded dtype and shape (bytes as
 * u8 when nothing was uploaded). Waits for kernels before it. */
static int buffer_download(lua_State *L) {
  pg_lua_buffer *buffer = check_buffer(L, 1);
  pg_device *device = buffer->owner->device;
  pg_array *array;
  pg_error error;
  if (!lua_isnoneornil(L, 2)) {
    array = pg_lua_check_array(L, 2, -1);
    check_size(L, buffer, array);
    lua_settop(L, 2);
  } else if (buffer->typed) {
    array = pg_lua_new_array(L, &buffer->dtype, buffer->ndim, buffer->shape);
  } else {
    pg_dtype bytes = pg_dtype_of(PG_U8);
    int64_t shape[1] = {(int64_t)buffer->bytes};
    array = pg_lua_new_array(L, &bytes, 1, shape);
  }
  if (device->ops->download(device, array->data, buffer->at, buffer->bytes, NULL, &error))
    return pg_lua_raise(L, &error);
  return 1;
}

/* buffer:fill(byte): every byte; returns the buffer. */
static int buffer_fill(lua_State *L) {
  pg_lua_buffer *buffer = check_buffer(L, 1);
  pg_device *device = buffer->owner->device;
  lua_Integer byte = pg_lua_check_integer(L, 2);
  pg_error error;
  if (byte < 0 || byte > 255) return pg_lua_argument(L, 2, "byte from 0 to 255");
  if (device->ops->fill(device, buffer->at, (uint32_t)byte, 1, buffer->bytes, NULL, &error))
    return pg_lua_raise(L, &error);
  lua_settop(L, 1);
  return 1;
}

/* buffer:copy_from(other): as many bytes as the smaller one has, on the device; returns the buffer.
 */
static int buffer_copy_from(lua_State *L) {
  pg_lua_buffer *to = check_buffer(L, 1), *from = check_buffer(L, 2);
  pg_device *device = to->owner->device;
  pg_error error;
  if (to->owner != from->owner) return pg_lua_argument(L, 2, "buffer of the same device");
  size_t bytes = to->bytes < from->bytes ? to->bytes : from->bytes;
  if (device->ops->copy(device, to->at, from->at, bytes, NULL, &error))
    return pg_lua_raise(L, &error);
  lua_settop(L, 1);
  return 1;
}

/* buffer:free(): at once instead of when it is collected; allowed twice. */
static int buffer_free(lua_State *L) {
  pg_lua_buffer *buffer = pg_lua_test_buffer(L, 1);
  if (!buffer) return pg_lua_argument(L, 1, "buffer");
  pg_device *device = buffer->owner ? buffer->owner->device : NULL;
  if (device && buffer->at) device->ops->free(device, buffer->at, NULL);
  buffer->at = 0;
  return 0;
}

static void push_shape(lua_State *L, const pg_lua_buffer *buffer) {
  lua_createtable(L, buffer->ndim, 0);
  for (int i = 0; i < buffer->ndim; i++) {
    lua_pushinteger(L, buffer->shape[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* buffer.nbytes, .ptr (the address), .dtype and .shape (of what was uploaded), or a method. */
static int buffer_index(lua_State *L) {
  const pg_lua_buffer *buffer = luaL_checkudata(L, 1, PG_BUFFER_META);
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (!strcmp(key, "nbytes")) {
    lua_pushinteger(L, (lua_Integer)buffer->bytes);
  } else if (!strcmp(key, "ptr")) {
    lua_pushinteger(L, (lua_Integer)buffer->at);
  } else if (!strcmp(key, "dtype") && buffer->typed) {
    lua_pushstring(L, buffer->dtype.name);
  } else if (!strcmp(key, "shape") && buffer->typed) {
    push_shape(L, buffer);
  } else {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
  }
  return 1;
}

static int buffer_tostring(lua_State *L) {
  const pg_lua_buffer *buffer = luaL_checkudata(L, 1, PG_BUFFER_META);
  char text[96];
  snprintf(text, sizeof text, "buffer of %zu bytes at 0x%" PRIx64 "%s", buffer->bytes, buffer->at,
           buffer->at ? "" : " (freed)");
  lua_pushstring(L, text);
  return 1;
}

/* Add device methods that make buffers. */
static void extend_devices(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"alloc", device_alloc}, {"upload", device_upload}, {NULL, NULL}};
  luaL_getmetatable(L, PG_DEVICE_META);
  lua_getfield(L, -1, "__index");
  luaL_setfuncs(L, methods, 0);
  lua_pop(L, 2);
}

void pg_bind_buffer(lua_State *L) {
  static const luaL_Reg methods[] = {{"upload", buffer_upload},       {"download", buffer_download},
                                     {"fill", buffer_fill},           {"free", buffer_free},
                                     {"copy_from", buffer_copy_from}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {{"__gc", buffer_free},
                                         {"__close", buffer_free},
                                         {"__tostring", buffer_tostring},
                                         {NULL, NULL}};
  extend_devices(L);
  pg_lua_make_meta(L, PG_BUFFER_META, NULL, metamethods);
  luaL_getmetatable(L, PG_BUFFER_META);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, buffer_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}
