/* Compiling CUDA C++ from Lua: core.compile, core.compiler_info. */
#include "device.h"

#include <limits.h>
#include <string.h>

#include "value.h"

#define RESULT_META "perigee.compile_result"

enum { OPTIONS_MOST = 4096 };

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
  request.source = pg_lua_option_text(L, 1, "source", true);
  request.name = pg_lua_option_text(L, 1, "name", false);
  request.arch = pg_lua_option_text(L, 1, "arch", false);
  request.options = pg_lua_option_texts(L, 1, "options", OPTIONS_MOST, &request.option_count);
  request.expressions =
      pg_lua_option_texts(L, 1, "expressions", OPTIONS_MOST, &request.expression_count);
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
