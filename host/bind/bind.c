/* The core module: argument getters, error tables, and the table that the groups fill.
 * luaopen_perigee_core is what `require "perigee.core"` runs. */
#include "bind.h"
#include "../home.h"
#include "value.h"

#include <stdio.h>
#include <string.h>

/* ---- errors as tables ---- */

/* Push {code, message, hint, where} with its metatable; an empty hint or place is left out. */
void pg_lua_push_error(lua_State *L, const pg_error *error) {
  luaL_checkstack(L, 4, "an error");
  lua_createtable(L, 0, 4);
  lua_pushstring(L, pg_code_name(error->code));
  lua_setfield(L, -2, "code");
  lua_pushstring(L, error->message);
  lua_setfield(L, -2, "message");
  if (*error->hint) lua_pushstring(L, error->hint), lua_setfield(L, -2, "hint");
  if (*error->where) lua_pushstring(L, error->where), lua_setfield(L, -2, "where");
  luaL_setmetatable(L, PG_ERROR_META);
}

static bool is_library(const lua_Debug *frame) {
  return strstr(frame->source, "/lua/perigee/") != NULL;
}

/* "file:line" of the nearest Lua function that is not perigee's own library: the script that passed
 * the wrong thing is where it must be mended. "" when only the library is running, as for a
 * command: a place in it would say nothing to a user. */
static void set_lua_place(lua_State *L, char where[PG_WHERE_MAX]) {
  lua_Debug frame;
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0 || is_library(&frame)) continue;
    snprintf(where, PG_WHERE_MAX, "%s:%d", frame.short_src, frame.currentline);
    return;
  }
}

int pg_lua_raise(lua_State *L, const pg_error *error) {
  pg_error placed = *error;
  if (!*placed.where) set_lua_place(L, placed.where);
  pg_lua_push_error(L, &placed);
  return lua_error(L);
}

/* "float" only where an integer was expected: elsewhere it would be confusing. */
const char *pg_lua_type_name(lua_State *L, int arg, const char *expected) {
  if (luaL_getmetafield(L, arg, "__name") == LUA_TSTRING) return lua_tostring(L, -1);
  if (lua_type(L, arg) == LUA_TLIGHTUSERDATA) return "light userdata";
  if (lua_type(L, arg) == LUA_TNUMBER && !lua_isinteger(L, arg) &&
      strncmp(expected, "integer", 7) == 0)
    return "float";
  return luaL_typename(L, arg);
}

/* Name in a loaded module of the function at stack index `function`; NULL when it is not there.
 * Leaves the stack higher. */
static const char *name_in(lua_State *L, const char *module, int function) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, module) != LUA_TTABLE) return NULL;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    if (lua_rawequal(L, -1, function) && lua_type(L, -2) == LUA_TSTRING) return lua_tostring(L, -2);
  return NULL;
}

/* Name of the function that `frame` runs, which Lua does not know after a tail call; "?" when it is
 * not one of ours. */
static const char *name_in_core(lua_State *L, lua_Debug *frame) {
  lua_getinfo(L, "f", frame);
  int function = lua_gettop(L);
  const char *name = name_in(L, "perigee.core", function);
  if (!name) name = name_in(L, "ffi", function);
  return name ? name : "?";
}

/* What is called and how: "method", "metamethod", "" and others. */
static const char *describe_call(lua_State *L, const char **kind) {
  lua_Debug frame;
  *kind = "";
  if (!lua_getstack(L, 0, &frame)) return "?";
  lua_getinfo(L, "n", &frame);
  *kind = frame.namewhat;
  return frame.name ? frame.name : name_in_core(L, &frame);
}

void pg_lua_describe_argument(lua_State *L, int arg, char text[PG_DESCRIPTION_MAX]) {
  int top = lua_gettop(L);
  const char *kind;
  luaL_checkstack(L, 12, "an error");
  const char *name = describe_call(L, &kind);
  if (strcmp(kind, "method") == 0) arg--; /* the object before the colon does not count */
  if (strcmp(kind, "metamethod") == 0)    /* a[i] = v and the like */
    snprintf(text, PG_DESCRIPTION_MAX, arg == 3 ? "bad value for an element" : "bad operand");
  else if (arg == 0)
    snprintf(text, PG_DESCRIPTION_MAX, "bad object before ':%.60s'", name);
  else
    snprintf(text, PG_DESCRIPTION_MAX, "bad argument #%d to '%.60s'", arg, name);
  lua_settop(L, top);
}

int pg_lua_argument(lua_State *L, int arg, const char *expected) {
  pg_error error;
  char what[PG_DESCRIPTION_MAX];
  pg_lua_describe_argument(L, arg, what);
  pg_fail(&error, PG_INVALID, "%s: expected %s, got %s", what, expected,
          pg_lua_type_name(L, arg, expected));
  return pg_lua_raise(L, &error);
}

/* An error reads "message (where)\n  hint" as text. */
static int error_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "message");
  lua_getfield(L, 1, "where");
  lua_getfield(L, 1, "hint");
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, lua_isstring(L, 2) ? lua_tostring(L, 2) : "unknown error");
  if (lua_isstring(L, 3)) {
    luaL_addstring(&text, " (");
    luaL_addstring(&text, lua_tostring(L, 3));
    luaL_addchar(&text, ')');
  }
  if (lua_isstring(L, 4) && *lua_tostring(L, 4)) {
    luaL_addstring(&text, "\n  ");
    luaL_addstring(&text, lua_tostring(L, 4));
  }
  luaL_pushresult(&text);
  return 1;
}

static void check_text(lua_State *L, int arg, bool required) {
  if (lua_type(L, arg) == LUA_TSTRING || (!required && lua_isnoneornil(L, arg))) return;
  pg_lua_argument(L, arg, "string");
}

/* core.error(code, message [, hint [, where]]): build an error and raise it. Messages of any
 * length. */
static int core_error(lua_State *L) {
  check_text(L, 1, true);
  check_text(L, 2, true);
  check_text(L, 3, false);
  check_text(L, 4, false);
  if (pg_code_parse(lua_tostring(L, 1)) == PG_CODE_COUNT)
    pg_lua_argument(L, 1, "name of an error code");
  lua_settop(L, 4);
  if (lua_isnil(L, 4)) {
    char where[PG_WHERE_MAX] = "";
    set_lua_place(L, where);
    if (*where) lua_pushstring(L, where), lua_replace(L, 4);
  }
  static const char *const fields[] = {"code", "message", "hint", "where"};
  lua_createtable(L, 0, 4);
  for (int i = 0; i < 4; i++) lua_pushvalue(L, i + 1), lua_setfield(L, -2, fields[i]);
  luaL_setmetatable(L, PG_ERROR_META);
  return lua_error(L);
}

static void make_error_metatable(lua_State *L) {
  luaL_newmetatable(L, PG_ERROR_META);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
}

/* ---- the module ---- */

static void set_home(lua_State *L) {
  char home[PG_PATH_MAX];
  if (pg_home(home, NULL)) return; /* not installed as a folder: core.home is nil */
  lua_pushstring(L, home);
  lua_setfield(L, -2, "home");
}

int luaopen_perigee_core(lua_State *L) {
  make_error_metatable(L);
  lua_newtable(L);
  lua_pushliteral(L, PG_VERSION);
  lua_setfield(L, -2, "version");
  set_home(L);
  lua_pushcfunction(L, core_error);
  lua_setfield(L, -2, "error");
  pg_bind_array(L);
  pg_bind_arith(L);
  pg_bind_compare(L);
  pg_bind_pattern(L);
  pg_bind_rows(L);
  pg_bind_distribution(L);
  pg_bind_json(L);
  pg_bind_data(L);
  pg_bind_sys(L);
  pg_bind_device(L);
  pg_bind_audit(L);
  pg_bind_worker(L);
  pg_bind_sqlite(L);
  pg_bind_line(L);
  pg_bind_channel(L);
  pg_bind_attend(L);
  return 1;
}
