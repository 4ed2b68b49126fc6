/* Lua binding of the judge's workers: perigee.worker userdata, and the mapping that arrays over the
 * shared memory keep alive. Deadlines and deaths are values (nil, error table); misuse is raised.
 */
#include <stdlib.h>
#include <string.h>

#include "../judge/worker.h"
#include "bind.h"

#define WORKER_META "perigee.worker"
#define MAPPING_META "perigee.mapping"

/* The worker's user value is the mapping of its shared memory, which views refer to as their owner.
 */
enum { MAPPING = 1 };

static pg_worker *check_worker(lua_State *L) {
  pg_worker **w = luaL_checkudata(L, 1, WORKER_META);
  if (*w) return *w;
  pg_error error;
  pg_fail(&error, PG_INVALID, "this worker was closed");
  pg_lua_raise(L, &error);
  return NULL;
}

/* core.worker(role): a new process. role: as pg_worker_spawn's. Raises environment,
 * invalid. */
static int new_worker(lua_State *L) {
  pg_error error = {0};
  if (lua_type(L, 1) != LUA_TSTRING) return pg_lua_argument(L, 1, "the name of a role");
  pg_worker **w = lua_newuserdatauv(L, sizeof *w, MAPPING);
  *w = NULL;
  luaL_setmetatable(L, WORKER_META);
  if (pg_worker_spawn(lua_tostring(L, 1), w, &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* The request at index 2: a string that is one to C as well. */
static const char *check_request(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) pg_lua_argument(L, 2, "a string of JSON");
  const char *text = lua_tostring(L, 2);
  if (strlen(text) != lua_rawlen(L, 2)) pg_lua_argument(L, 2, "JSON, which has no zero byte");
  if (lua_type(L, 3) != LUA_TNUMBER) pg_lua_argument(L, 3, "a deadline in seconds");
  return text;
}

/* The reply, or nil and the error. */
static int push_reply(lua_State *L, char *reply, const pg_error *error) {
  if (error->code) {
    lua_pushnil(L);
    pg_lua_push_error(L, error);
    return 2;
  }
  lua_pushstring(L, reply);
  free(reply);
  return 1;
}

/* w:call(request, deadline_s) -> reply, or nil and {code = timeout | crashed | range, ...}. */
static int worker_call(lua_State *L) {
  pg_worker *w = check_worker(L);
  char *reply;
  pg_error error = {0};
  error.code = pg_worker_call(w, check_request(L), lua_tonumber(L, 3), &reply, &error);
  return push_reply(L, reply, &error);
}

/* w:post(request, deadline_s) -> true, or nil and an error that take gives as well. */
static int worker_post(lua_State *L) {
  pg_worker *w = check_worker(L);
  pg_error error = {0};
  if (pg_worker_post(w, check_request(L), lua_tonumber(L, 3), &error))
    return push_reply(L, NULL, &error);
  lua_pushboolean(L, 1);
  return 1;
}

/* w:take() -> reply to the request posted, or nil and an error as of call. */
static int worker_take(lua_State *L) {
  pg_worker *w = check_worker(L);
  char *reply;
  pg_error error = {0};
  error.code = pg_worker_take(w, &reply, &error);
  return push_reply(L, reply, &error);
}

/* w:share(bytes): zeroed memory that both processes see; arrays over the former one stay valid.
 * Returns w. Raises range, out_of_memory, and crashed or timeout when the worker is gone. */
static int worker_share(lua_State *L) {
  pg_worker *w = check_worker(L);
  pg_error error = {0};
  int is_integer;
  lua_Integer bytes = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer || bytes < 1) return pg_lua_argument(L, 2, "a number of bytes above 0");
  pg_shared **mapping = lua_newuserdatauv(L, sizeof *mapping, 0);
  *mapping = NULL;
  luaL_setmetatable(L, MAPPING_META);
  if (pg_worker_share(w, (size_t)bytes, &error)) return pg_lua_raise(L, &error);
  *mapping = pg_shared_retain(pg_worker_shared(w));
  lua_setiuservalue(L, 1, MAPPING);
  lua_settop(L, 1);
  return 1;
}

/* Whether an array of `shape` fits at `offset`, without overflow. */
static pg_code check_view(const pg_dtype *dtype, int ndim, const int64_t *shape, lua_Integer offset,
                          size_t room, pg_error *error) {
  size_t bytes = dtype->size;
  for (int i = 0; i < ndim; i++)
    if (shape[i] < 0 || __builtin_mul_overflow(bytes, (size_t)shape[i], &bytes))
      return pg_fail(error, PG_RANGE, "the shape of the view is negative or too large");
  if (offset < 0 || (size_t)offset > room || bytes > room - (size_t)offset)
    return pg_fail(error, PG_RANGE,
                   "a view of %zu bytes at %lld lies outside the %zu bytes of shared memory", bytes,
                   (long long)offset, room);
  if (dtype->align && (size_t)offset % dtype->align)
    return pg_fail(error, PG_RANGE, "offset %lld of the view is no multiple of %u, which %s needs",
                   (long long)offset, dtype->align, dtype->name);
  return PG_OK;
}

/* w:view(dtype, shape, offset): an array over the shared memory, from byte `offset` (default 0). */
static int worker_view(lua_State *L) {
  pg_worker *w = check_worker(L);
  pg_dtype dtype;
  int64_t shape[PG_DIM_MAX];
  pg_error error = {0};
  size_t room;
  lua_settop(L, 4);
  pg_lua_check_dtype(L, 2, &dtype);
  int ndim = pg_lua_check_shape(L, 3, shape);
  int is_integer = 1;
  lua_Integer offset = lua_isnil(L, 4) ? 0 : lua_tointegerx(L, 4, &is_integer);
  if (!is_integer) return pg_lua_argument(L, 4, "a byte offset");
  char *memory = pg_worker_memory(w, &room);
  pg_code code = PG_OK;
  if (!memory)
    code = pg_fail(&error, PG_INVALID, "this worker shares no memory: call share(bytes) first");
  if (!code) code = check_view(&dtype, ndim, shape, offset, room, &error);
  if (code) return pg_lua_raise(L, &error);
  lua_getiuservalue(L, 1, MAPPING);
  pg_lua_view_array(L, &dtype, ndim, shape, memory + offset, lua_gettop(L));
  return 1;
}

/* w:kill(): kill the process group; w:call then says so. */
static int worker_kill(lua_State *L) {
  pg_worker_kill(check_worker(L), NULL);
  return 0;
}

/* w:stop(): kill the process group without waiting for its end; w:kill or the collector does. */
static int worker_stop(lua_State *L) {
  pg_worker_stop(check_worker(L));
  return 0;
}

/* w:alive(): whether the process still runs. */
static int worker_alive(lua_State *L) {
  lua_pushboolean(L, pg_worker_alive(check_worker(L)));
  return 1;
}

/* w:pid(): process id, or nil once it has ended. */
static int worker_pid(lua_State *L) {
  int pid = pg_worker_pid(check_worker(L));
  if (pid > 0)
    lua_pushinteger(L, pid);
  else
    lua_pushnil(L);
  return 1;
}

/* w.sandbox: list of the restrictions obtained; all else is a method. */
static int worker_index(lua_State *L) {
  const char *key = lua_tostring(L, 2);
  if (!key || strcmp(key, "sandbox") != 0) {
    lua_pushvalue(L, 2);
    lua_gettable(L, lua_upvalueindex(1));
    return 1;
  }
  const char *at = pg_worker_sandbox(check_worker(L));
  lua_newtable(L);
  for (lua_Integer i = 1; *at; i++) {
    size_t n = strcspn(at, " ");
    lua_pushlstring(L, at, n);
    lua_rawseti(L, -2, i);
    at += n + strspn(at + n, " ");
  }
  return 1;
}

static int worker_gc(lua_State *L) {
  pg_worker **w = luaL_checkudata(L, 1, WORKER_META);
  pg_worker_free(*w);
  *w = NULL;
  return 0;
}

static int mapping_gc(lua_State *L) {
  pg_shared **mapping = luaL_checkudata(L, 1, MAPPING_META);
  pg_shared_release(*mapping);
  *mapping = NULL;
  return 0;
}

static const luaL_Reg methods[] = {
    {"call", worker_call},   {"post", worker_post}, {"take", worker_take}, {"share", worker_share},
    {"view", worker_view},   {"kill", worker_kill}, {"stop", worker_stop}, {"pid", worker_pid},
    {"alive", worker_alive}, {"close", worker_gc},  {NULL, NULL},
};

void pg_bind_worker(lua_State *L) {
  luaL_newmetatable(L, MAPPING_META);
  lua_pushcfunction(L, mapping_gc);
  lua_setfield(L, -2, "__gc");
  luaL_newmetatable(L, WORKER_META);
  lua_pushcfunction(L, worker_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, worker_gc);
  lua_setfield(L, -2, "__close");
  luaL_newlib(L, methods);
  lua_pushcclosure(L, worker_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
  lua_pushcfunction(L, new_worker);
  lua_setfield(L, -2, "worker");
}
