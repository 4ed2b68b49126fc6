/* What a C primitive does with its call: read arguments, give results, fail.
 * No function here raises a Lua error: a primitive's frames must not be jumped over. */
#include "api.h"

#include <stdio.h>

#include "../bind/bind.h"
#include "host.h"

/* Index on Lua's stack; 0 when there is no such argument. */
static int at(const pg_call *call, int index) {
  return call && index >= 0 && index < call->count ? index + 1 : 0;
}

int pg_call_count(pg_call *call) {
  return call ? call->count : 0;
}

int pg_call_number(pg_call *call, int index, double *out) {
  int i = at(call, index);
  if (!i || !out || lua_type(call->L, i) != LUA_TNUMBER) return PG_INVALID;
  *out = lua_tonumber(call->L, i);
  return 0;
}

int pg_call_integer(pg_call *call, int index, int64_t *out) {
  int exact = 0, i = at(call, index);
  if (!i || !out || lua_type(call->L, i) != LUA_TNUMBER) return PG_INVALID;
  lua_Integer value = lua_tointegerx(call->L, i, &exact);
  if (exact) *out = value;
  return exact ? 0 : PG_INVALID;
}

int pg_call_text(pg_call *call, int index, const char **out, size_t *bytes) {
  int i = at(call, index);
  if (!i || !out || lua_type(call->L, i) != LUA_TSTRING) return PG_INVALID;
  *out = lua_tolstring(call->L, i, bytes);
  return 0;
}

int pg_call_array(pg_call *call, int index, pg_array **out) {
  int i = at(call, index);
  pg_array *array = i && out ? pg_lua_test_array(call->L, i) : NULL;
  if (!array) return PG_INVALID;
  *out = array;
  return 0;
}

/* ---- results ---- */

/* The stack has room for PG_GIVEN_MAX results. */
static int more(pg_call *call) {
  if (!call || call->given >= PG_GIVEN_MAX) return 0;
  call->given++;
  return 1;
}

int pg_call_give_number(pg_call *call, double value) {
  if (!more(call)) return PG_RANGE;
  lua_pushnumber(call->L, value);
  return 0;
}

int pg_call_give_integer(pg_call *call, int64_t value) {
  if (!more(call)) return PG_RANGE;
  lua_pushinteger(call->L, value);
  return 0;
}

/* The one push that may lack memory. */
static int push_text(lua_State *L) {
  lua_pushlstring(L, lua_touserdata(L, 1), *(const size_t *)lua_touserdata(L, 2));
  return 1;
}

int pg_call_give_text(pg_call *call, const char *text, size_t bytes) {
  if (!text) return PG_INVALID;
  if (!more(call)) return PG_RANGE;
  lua_pushcfunction(call->L, push_text);
  lua_pushlightuserdata(call->L, (void *)(uintptr_t)text);
  lua_pushlightuserdata(call->L, &bytes);
  if (lua_pcall(call->L, 2, 1, 0) == LUA_OK) return 0;
  lua_pop(call->L, 1);
  call->given--;
  return PG_MEMORY;
}

int pg_call_fail(pg_call *call, const char *message) {
  if (call && message) snprintf(call->failure, sizeof call->failure, "%s", message);
  return PG_INVALID;
}
