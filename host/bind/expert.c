/* Host code of a task in Lua: perigee.trusted prepares it, and the function that it gives back is
 * called for each sample. What Lua raises becomes an error of the request. */
#include "expert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lualib.h>

#include "bind.h"

/* ---- errors ---- */

static void copy_field(lua_State *L, int table, const char *name, char *to, size_t bytes) {
  lua_getfield(L, table, name);
  const char *text = lua_tostring(L, -1);
  if (text) snprintf(to, bytes, "%s", text);
  lua_pop(L, 1);
}

/* The error on top of the stack, which is taken off: a table as core.error makes it, or a text. */
static pg_code take_error(lua_State *L, pg_error *error) {
  pg_code code = PG_INVALID;
  int top = lua_gettop(L);
  char name[32] = "";
  if (!lua_istable(L, top)) {
    pg_fail(error, code, "%s", luaL_tolstring(L, top, NULL));
    lua_settop(L, top - 1);
    return code;
  }
  copy_field(L, top, "code", name, sizeof name);
  if (pg_code_parse(name) != PG_CODE_COUNT) code = pg_code_parse(name);
  pg_fail(error, code, "an error without a message");
  copy_field(L, top, "message", error->message, sizeof error->message);
  copy_field(L, top, "hint", error->hint, sizeof error->hint);
  copy_field(L, top, "where", error->where, sizeof error->where);
  lua_settop(L, top - 1);
  return code;
}

/* ---- prepare ---- */

/* Arguments: the name of a function of perigee.trusted, and its own. Results: its three. A new
 * state gets its libraries first. */
static int call_protected(lua_State *L) {
  int given = lua_gettop(L) - 1;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "perigee.core") == LUA_TNIL) {
    luaL_openlibs(L);
    pg_lua_provide(L);
  }
  lua_getglobal(L, "require");
  lua_pushliteral(L, "perigee.trusted");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, lua_tostring(L, 1));
  for (int i = 1; i <= given; i++) lua_pushvalue(L, 1 + i);
  lua_call(L, given, 3);
  return 3;
}

/* The state with call_protected and the name of a function on its stack; NULL without memory. */
static lua_State *begin(pg_lua_expert *lua, const char *name) {
  if (!lua->L) {
    lua->L = luaL_newstate();
    lua->call = lua->finish = LUA_NOREF;
  }
  if (!lua->L) return NULL;
  lua_settop(lua->L, 0);
  lua_pushcfunction(lua->L, call_protected);
  lua_pushstring(lua->L, name);
  return lua->L;
}

static void warm(void *state, const char *name) {
  lua_State *L = begin(state, "warm");
  if (!L) return;
  lua_pushstring(L, name);
  lua_pcall(L, 2, 0, 0);
  lua_settop(L, 0);
}

static void push_json(lua_State *L, const json_t *json) {
  char *text = json_dumps(json, JSON_COMPACT);
  lua_pushstring(L, text ? text : "{}");
  free(text);
}

static pg_code add_reply(lua_State *L, json_t *reply, pg_error *error) {
  json_t *said = json_loads(lua_tostring(L, 1), 0, NULL);
  if (said) json_object_update(reply, said);
  json_decref(said);
  return said ? PG_OK : pg_fail(error, PG_INTERNAL, "an expert's reply is no JSON");
}

static pg_code prepare(void *state, const json_t *request, const json_t *given, json_t *reply,
                       pg_error *error) {
  pg_lua_expert *lua = state;
  lua_State *L = begin(lua, "prepare");
  if (!L) return pg_fail(error, PG_MEMORY, "no memory for the Lua state");
  push_json(L, request);
  push_json(L, given);
  if (lua_pcall(L, 3, 3, 0)) return take_error(L, error);
  luaL_unref(L, LUA_REGISTRYINDEX, lua->call);
  luaL_unref(L, LUA_REGISTRYINDEX, lua->finish);
  lua->finish = luaL_ref(L, LUA_REGISTRYINDEX); /* LUA_REFNIL of nil */
  lua->call = luaL_ref(L, LUA_REGISTRYINDEX);
  return add_reply(L, reply, error);
}

/* ---- call ---- */

static pg_code call_with_set(pg_lua_expert *lua, int function, int set, pg_error *error) {
  lua_rawgeti(lua->L, LUA_REGISTRYINDEX, function);
  lua_pushinteger(lua->L, set);
  if (lua_pcall(lua->L, 1, 0, 0)) return take_error(lua->L, error);
  return PG_OK;
}

static pg_code call(void *state, int set, pg_error *error) {
  pg_lua_expert *lua = state;
  return call_with_set(lua, lua->call, set, error);
}

static pg_code finish(void *state, int set, pg_error *error) {
  pg_lua_expert *lua = state;
  return lua->finish == LUA_REFNIL ? PG_OK : call_with_set(lua, lua->finish, set, error);
}

pg_expert pg_lua_expert_of(pg_lua_expert *lua) {
  return (pg_expert){
      .state = lua, .warm = warm, .prepare = prepare, .call = call, .finish = finish};
}

void pg_lua_expert_close(pg_lua_expert *lua) {
  if (lua->L) lua_close(lua->L);
  lua->L = NULL;
}
