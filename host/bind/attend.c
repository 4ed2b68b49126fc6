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

/* core.attend{command, input, seconds, output_most, memory_most, folder, writes, kept, hidden,
 * door, server}: see attend.h. What it wrote, how it ended ("status", "signal", "time", "output",
 * "memory") and with which number; nil and an error where it could not be started. */
static int attend(lua_State *L) {
  pg_attend how = {0};
  pg_attended out;
  pg_error error = {0};
  int count;
  if (!lua_istable(L, 1)) return pg_lua_argument(L, 1, "table");
  how.command = pg_lua_option_text(L, 1, "command", true);
  how.input = pg_lua_option_text(L, 1, "input", true);
  how.input_bytes = strlen(how.input);
  how.folder = pg_lua_option_text(L, 1, "folder", true);
  how.seconds = pg_lua_option_number(L, 1, "seconds", 0);
  how.output_most = (size_t)pg_lua_option_number(L, 1, "output_most", 0);
  how.memory_most = (size_t)pg_lua_option_number(L, 1, "memory_most", 0);
  how.writes = pg_lua_option_texts(L, 1, "writes", PG_ATTEND_MOST, &count);
  how.kept = pg_lua_option_texts(L, 1, "kept", PG_ATTEND_MOST, &count);
  how.hidden = pg_lua_option_texts(L, 1, "hidden", PG_ATTEND_MOST, &count);
  how.server = pg_lua_option_texts(L, 1, "server", PG_ATTEND_MOST, &count);
  how.door = pg_lua_option_text(L, 1, "door", count > 0);
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
