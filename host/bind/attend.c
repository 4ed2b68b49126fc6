/* Lua binding of pg_attend_run: core.attend for a process that does nothing else. */
#include "../judge/attend.h"
#include "bind.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>

static const char *const ends[] = {[PG_ENDED] = "status",
                                   [PG_ENDED_SIGNAL] = "signal",
                                   [PG_ENDED_TIME] = "time",
                                   [PG_ENDED_OUTPUT] = "output",
                                   [PG_ENDED_MEMORY] = "memory"};

/* The field as text; it stays in the table, and so alive. */
static const char *text_field(lua_State *L, const char *name, size_t *length) {
  lua_getfield(L, 1, name);
  if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "attend: '%s' is no text", name);
  const char *text = lua_tolstring(L, -1, length);
  lua_pop(L, 1);
  return text;
}

static void list_field(lua_State *L, const char *name, const char *list[PG_ATTEND_PATHS + 1]) {
  if (lua_getfield(L, 1, name) == LUA_TTABLE) {
    size_t count = lua_rawlen(L, -1);
    if (count > PG_ATTEND_PATHS)
      luaL_error(L, "attend: '%s' has over %d texts", name, PG_ATTEND_PATHS);
    for (size_t i = 0; i < count; i++) {
      if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TSTRING)
        luaL_error(L, "attend: '%s' has what is no text", name);
      list[i] = lua_tostring(L, -1);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

/* core.attend{command, input, seconds, output_most, memory_most, folder, writes, kept, hidden,
 * door, server}: see attend.h. What it wrote, how it ended ("status", "signal", "time", "output",
 * "memory") and with which number; nil and an error where it could not be started. */
static int attend(lua_State *L) {
  pg_attend how = {0};
  pg_attended out;
  pg_error error = {0};
  luaL_checktype(L, 1, LUA_TTABLE);
  how.command = text_field(L, "command", NULL);
  how.input = text_field(L, "input", &how.input_bytes);
  how.folder = text_field(L, "folder", NULL);
  how.seconds = pg_lua_option_number(L, 1, "seconds", 0);
  how.output_most = (size_t)pg_lua_option_number(L, 1, "output_most", 0);
  how.memory_most = (size_t)pg_lua_option_number(L, 1, "memory_most", 0);
  list_field(L, "writes", how.writes);
  list_field(L, "kept", how.kept);
  list_field(L, "hidden", how.hidden);
  list_field(L, "server", how.server);
  if (how.server[0]) how.door = text_field(L, "door", NULL);
  pg_code code = pg_attend_run(&how, &out, &error);
  if (!code) {
    lua_pushlstring(L, out.output ? out.output : "", out.output_bytes);
    lua_pushstring(L, ends[out.end]);
    lua_pushinteger(L, out.code);
  }
  free(out.output);
  if (!code) return 3;
  lua_pushnil(L);
  pg_lua_push_error(L, &error);
  return 2;
}

/* core.attend_binds(): whether this machine can bind an agent to what it may change. */
static int attend_binds(lua_State *L) {
  lua_pushboolean(L, pg_attend_binds());
  return 1;
}

void pg_bind_attend(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"attend", attend}, {"attend_binds", attend_binds}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
