/* The Lua bindings: what their files share, and what a task's own Lua C module may call (PG_API).
 * Userdata own what they wrap; errors are raised as tables {code, message, hint, where}. */
#ifndef PG_BIND_H
#define PG_BIND_H

#include <lua.h>
#include <lauxlib.h>

#include "../array.h"

#define PG_API __attribute__((visibility("default")))

#define PG_ARRAY_META "perigee.array"
#define PG_ERROR_META "perigee.error"

/* Push and raise an error table. Never returns; declared int for `return pg_lua_raise(L, &e)`. */
PG_API int pg_lua_raise(lua_State *L, const pg_error *error);
/* Raise PG_INVALID etc. for argument `arg`: "bad argument #2 to 'fill': expected integer, got
 * string". */
PG_API int pg_lua_argument(lua_State *L, int arg, const char *expected);
/* Push an error table without raising. */
PG_API void pg_lua_push_error(lua_State *L, const pg_error *error);

/* The array at stack index `arg`, or raise. scalar -1: any dtype; else that one. The array lives as
 * long as its userdata. */
PG_API pg_array *pg_lua_check_array(lua_State *L, int arg, int scalar);
PG_API pg_array *pg_lua_test_array(lua_State *L, int arg); /* NULL when it is none */
/* Push a new zeroed array. */
PG_API pg_array *pg_lua_new_array(lua_State *L, const pg_dtype *dtype, int ndim,
                                  const int64_t *shape);
/* The same with one dimension, of a dtype by its name. */
PG_API pg_array *pg_lua_new_vector(lua_State *L, const char *dtype, int64_t count);
/* Push a view of `data`; the value at stack index `owner` is kept alive with it. */
PG_API pg_array *pg_lua_view_array(lua_State *L, const pg_dtype *dtype, int ndim,
                                   const int64_t *shape, void *data, int owner);
/* dtype given as a name or a struct dtype value; shape as an integer or a table. Raise on error. */
PG_API void pg_lua_check_dtype(lua_State *L, int arg, pg_dtype *out);
PG_API int pg_lua_check_shape(lua_State *L, int arg, int64_t shape[PG_DIM_MAX]);

/* Each adds its functions to the table on top of the stack. */
void pg_bind_array(lua_State *L);
void pg_bind_arith(lua_State *L);   /* operators of arrays */
void pg_bind_compare(lua_State *L); /* compare, statistics, random numbers, hash */
void pg_bind_pattern(lua_State *L); /* what wrong elements have in common */
void pg_bind_rows(lua_State *L);    /* rows as sets, order, permutations */
void pg_bind_distribution(lua_State *L);
void pg_bind_json(lua_State *L);
void pg_bind_data(lua_State *L); /* data written as Lua by strangers */
void pg_bind_sys(lua_State *L);
int pg_lua_temporary_folder(lua_State *L); /* temporary.c: a function of sys */
void pg_bind_device(lua_State *L);
void pg_bind_audit(lua_State *L); /* what PTX text says of itself */
void pg_bind_worker(lua_State *L);
void pg_bind_sqlite(lua_State *L);
void pg_bind_line(lua_State *L);
void pg_bind_channel(lua_State *L); /* standard streams, children and sockets, polled */
void pg_bind_attend(lua_State *L);  /* an agent's command */
/* Load perigee.core and ffi, set the search paths; with the standard libraries open. Raises
 * environment when Perigee's Lua library is not found. */
void pg_lua_provide(lua_State *L);
PG_API int luaopen_perigee_core(lua_State *L);
PG_API int luaopen_ffi(lua_State *L);

#endif
