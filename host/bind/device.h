/* Lua objects of a device: what the files of this binding share. Every object keeps its device's
 * userdata alive (user value 1); closing the device makes them all unusable, never dangling. */
#ifndef PG_BIND_DEVICE_H
#define PG_BIND_DEVICE_H

#include "bind.h"

#include "../device.h"

#define PG_DEVICE_META "perigee.device"
#define PG_BUFFER_META "perigee.buffer"

typedef struct pg_lua_device {
  pg_device *device; /* NULL once closed */
} pg_lua_device;

typedef struct pg_lua_buffer {
  pg_lua_device *owner;
  pg_ptr at; /* 0 once freed */
  size_t bytes;
  bool typed; /* dtype and shape say how to download it */
  pg_dtype dtype;
  int ndim;
  int64_t shape[PG_DIM_MAX];
} pg_lua_buffer;

/* Raise when the device is closed. */
pg_device *pg_lua_open_device(lua_State *L, const pg_lua_device *owner);
/* The device userdata at `arg`, open; or raise. */
pg_lua_device *pg_lua_check_device(lua_State *L, int arg);
/* The buffer at `arg`, or NULL when it is none. */
pg_lua_buffer *pg_lua_test_buffer(lua_State *L, int arg);
/* New userdata of `bytes` that keeps the value at `keep` alive, with metatable `meta`. */
void *pg_lua_new_object(lua_State *L, size_t bytes, int keep, const char *meta);
/* Make metatable `meta` with these methods (as a table in __index) and metamethods. */
void pg_lua_make_meta(lua_State *L, const char *meta, const luaL_Reg *methods,
                      const luaL_Reg *metamethods);

/* dev:load; makes modules. */
int pg_lua_load(lua_State *L);
void pg_bind_buffer(lua_State *L);
void pg_bind_kernel(lua_State *L);
void pg_bind_compile(lua_State *L);

#endif
