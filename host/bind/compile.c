/* Compiling CUDA C++ from Lua: core.compile, core.compiler_info. */
#include "device.h"

#include <limits.h>
#include <string.h>

#include "value.h"

#define RESULT_META "perigee.compile_result"

/* Option `name` as a list of strings, which stay alive in the table; count is written to *count. */
static const char *const *string_list(lua_State *L, int table, const char *name, int *count) {
  pg_error error;
  *count = 0;
  if (lua_getfield(L, table, name) == LUA_TNIL) return NULL;
  if (!lua_istable(L, -1)) {
    pg_fail(&error, PG_INVALID, "option '%s': expected a list of strings, got %s", name,
            luaL_typename(L, -1));
    pg_lua_raise(L, &error);
  }
  lua_Unsigned length = lua_rawlen(L, -1);
  if (length > 4096) luaL_error(L, "option '%s' is too long", name);
  const char **list = lua_newuserdatauv(L, (length + 1) * sizeof *list, 0);
  for (lua_Unsigned i = 0; i < length; i++) {
    if (lua_rawgeti(L, -2, (lua_Integer)i + 1) != LUA_TSTRING) {
      pg_fail(&error, PG_INVALID, "option '%s': expected strings, got %s at %d", name,
              luaL_typename(L, -1), (int)i + 1);
      pg_lua_raise(L, &error);
    }
    list[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  *count = (int)length;
  return list; /* the userdata stays on the stack, above the list */
}

static const char *string_option(lua_State *L, int table, const char *name, bool required) {
  pg_error error;
  int type = lua_getfield(L, table, name);
  if (type == LUA_TNIL && !required) return NULL;
  if (type == LUA_TSTRING && strlen(lua_tostring(L, -1)) == lua_rawlen(L, -1))
    return lua_tostring(L, -1); /* alive in the table, and on the stack */
  pg_fail(&error, PG_INVALID, "option '%s': expected %s, got %s", name,
          type == LUA_TSTRING ? "text without a zero byte" : "string", luaL_typename(L, -1));
  pg_lua_raise(L, &error);
  return NULL;
}

static int result_gc(lua_State *L) {
  pg_compile_free(luaL_checkudata(L, 1, RESULT_META));
  return 0;
}

static int raise_failure(lua_State *L, const pg_error *error, const pg_compile_result *result) {
  pg_lua_push_error(L, error);
  lua_pushstring(L, result->log ? result->log : "");
  lua_setfield(L, -2, "log");
  return lua_error(L);
}

static void push_result(lua_State *L, const pg_compile_result *result) {
  lua_createtable(L, 0, 6);
  lua_pushlstring(L, result->ptx, result->bytes);
  lua_setfield(L, -2, "ptx");
  lua_pushstring(L, result->log);
  lua_setfield(L, -2, "log");
  lua_pushnumber(L, result->seconds);
  lua_setfield(L, -2, "seconds");
  lua_pushboolean(L, result->cached);
  lua_setfield(L, -2, "cached");
  lua_pushstring(L, result->compiler);
  lua_setfield(L, -2, "compiler");
  lua_createtable(L, result->lowered_count, 0);
  for (int i = 0; i < result->lowered_count; i++) {
    lua_pushstring(L, result->lowered[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "lowered");
}

/* core.compile{source=, name=, arch=, options={}, expressions={}, cache=true} -> {ptx, log,
 * seconds, cached, compiler, lowered}. Raises compile_error (with .log), environment without NVRTC.
 */
static int core_compile(lua_State *L) {
  static const char *const known[] = {"source",      "name",  "arch", "options",
                                      "expressions", "cache", NULL};
  pg_compile_request request = {0};
  pg_error error;
  if (!lua_istable(L, 1)) return pg_lua_argument(L, 1, "table");
  pg_lua_check_options(L, 1, known);
  request.source = string_option(L, 1, "source", true);
  request.name = string_option(L, 1, "name", false);
  request.arch = string_option(L, 1, "arch", false);
  request.options = string_list(L, 1, "options", &request.option_count);
  request.expressions = string_list(L, 1, "expressions", &request.expression_count);
  request.no_cache = !pg_lua_option_boolean(L, 1, "cache", 1);
  pg_compile_result *result = lua_newuserdatauv(L, sizeof *result, 0);
  memset(result, 0, sizeof *result);
  luaL_setmetatable(L, RESULT_META);
  if (pg_compile(&request, result, &error)) return raise_failure(L, &error, result);
  push_result(L, result);
  return 1;
}

/* core.compiler_info() -> {version, path}, or nil and an error. */
static int core_compiler_info(lua_State *L) {
  char version[48], path[PATH_MAX];
  pg_error error;
  if (pg_compiler_info(version, sizeof version, path, sizeof path, &error)) {
    lua_pushnil(L);
    pg_lua_push_error(L, &error);
    return 2;
  }
  lua_createtable(L, 0, 2);
  lua_pushstring(L, version);
  lua_setfield(L, -2, "version");
  lua_pushstring(L, path);
  lua_setfield(L, -2, "path");
  return 1;
}

void pg_bind_compile(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"compile", core_compile}, {"compiler_info", core_compiler_info}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {{"__gc", result_gc}, {NULL, NULL}};
  pg_lua_make_meta(L, RESULT_META, NULL, metamethods);
  luaL_setfuncs(L, functions, 0);
}
