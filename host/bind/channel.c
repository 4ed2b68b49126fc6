/* Lua binding of channels: perigee.channel userdata, and core.poll over several of them. */
#include "../channel.h"
#include "../home.h"
#include "../judge/watch.h"
#include "bind.h"
#include "value.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define CHANNEL_META "perigee.channel"

enum { CHUNK = 64 << 10, CHANNELS_MOST = 64 };

static pg_channel *check_channel(lua_State *L, int arg) {
  pg_channel **box = luaL_checkudata(L, arg, CHANNEL_META);
  if (*box) return *box;
  pg_error error;
  pg_fail(&error, PG_INVALID, "this channel was closed");
  pg_lua_raise(L, &error);
  return NULL;
}

static pg_channel **push_channel(lua_State *L) {
  pg_channel **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  luaL_setmetatable(L, CHANNEL_META);
  return box;
}

/* core.standard_channel(): standard input and output; print goes to standard error from then on. */
static int standard_channel(lua_State *L) {
  pg_error error = {0};
  if (pg_channel_standard(push_channel(L), &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* core.binary(): the path of this command, for others to start. Raises environment. */
static int binary(lua_State *L) {
  char path[PG_PATH_MAX], resolved[PATH_MAX];
  pg_error error = {0};
  if (pg_binary(path, &error)) return pg_lua_raise(L, &error);
  lua_pushstring(L, realpath(path, resolved) ? resolved : path);
  return 1;
}

/* core.start(argument, ...): a child `perigee ARGUMENT...`. Raises environment. */
static int start(lua_State *L) {
  enum { MOST = 16 };
  const char *arguments[MOST + 1] = {NULL};
  pg_error error = {0};
  int count = lua_gettop(L);
  if (count < 1 || count > MOST) return pg_lua_argument(L, count, "1 to 16 arguments");
  for (int i = 0; i < count; i++) {
    size_t length;
    arguments[i] = pg_lua_check_string(L, i + 1, &length);
    if (strlen(arguments[i]) != length)
      return pg_lua_argument(L, i + 1, "text without a zero byte");
  }
  if (pg_channel_start(arguments, push_channel(L), &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* core.connect(path): what listens at a socket with that name. Raises environment. */
static int core_connect(lua_State *L) {
  pg_error error = {0};
  const char *path = pg_lua_check_path(L, 1);
  if (pg_channel_connect(path, push_channel(L), &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* c:finish(): nothing more is written; the peer of a socket reads the end. */
static int channel_finish(lua_State *L) {
  pg_channel_finish(check_channel(L, 1));
  return 0;
}

/* c:read(): bytes, "" when none are there by now, nil at the end. */
static int channel_read(lua_State *L) {
  pg_channel *channel = check_channel(L, 1);
  luaL_Buffer text;
  long got = pg_channel_read(channel, luaL_buffinitsize(L, &text, CHUNK), CHUNK);
  luaL_pushresultsize(&text, got > 0 ? (size_t)got : 0);
  if (got < 0) lua_pushnil(L);
  return 1;
}

/* c:write(bytes [, from = 1]): how many of the bytes from that place on were taken; nil when the
 * peer has gone. */
static int channel_write(lua_State *L) {
  pg_channel *channel = check_channel(L, 1);
  size_t length;
  const char *bytes = pg_lua_check_string(L, 2, &length);
  lua_Integer from = luaL_optinteger(L, 3, 1);
  if (from < 1 || (size_t)from > length + 1) return pg_lua_argument(L, 3, "a place in the bytes");
  long put = pg_channel_write(channel, bytes + from - 1, length - (size_t)from + 1);
  if (put < 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, put);
  return 1;
}

/* The child's group, and what it has started that left the group. */
static void end_child(pg_channel *channel) {
  pid_t members[PG_PROCESSES_MOST + 1];
  int pid = channel ? pg_channel_pid(channel) : 0;
  int count = pid > 0 ? pg_family_of(pid, members) : 0;
  if (pid > 0) pg_channel_kill(channel);
  for (int i = 1; i < count; i++) kill(members[i], SIGKILL);
}

/* c:kill(): the child and all that it has started. */
static int channel_kill(lua_State *L) {
  end_child(check_channel(L, 1));
  return 0;
}

/* c:pid(): of the child; nil when there is none (any more). */
static int channel_pid(lua_State *L) {
  int pid = pg_channel_pid(check_channel(L, 1));
  if (pid > 0)
    lua_pushinteger(L, pid);
  else
    lua_pushnil(L);
  return 1;
}

/* c:memory(): bytes that the child and what it has started hold; 0 when there is none. */
static int channel_memory(lua_State *L) {
  int pid = pg_channel_pid(check_channel(L, 1));
  lua_pushinteger(L, pid > 0 ? (lua_Integer)pg_usage_of(pid).memory : 0);
  return 1;
}

static int channel_gc(lua_State *L) {
  pg_channel **box = luaL_checkudata(L, 1, CHANNEL_META);
  end_child(*box);
  pg_channel_free(*box);
  *box = NULL;
  return 0;
}

/* core.poll(channels, wants, seconds): wait until a channel is ready for what the word of the same
 * place in `wants` asks ("r", "w" or "rw"); a negative number of seconds waits for ever. A list of
 * words with what each is ready for: "r", "w", and "g" where the peer reads no more. */
static int core_poll(lua_State *L) {
  pg_channel *list[CHANNELS_MOST];
  int bits[CHANNELS_MOST];
  pg_error error = {0};
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  double seconds = luaL_checknumber(L, 3);
  size_t count = lua_rawlen(L, 1);
  if (count > CHANNELS_MOST) return pg_lua_argument(L, 1, "at most 64 channels");
  if (isnan(seconds)) return pg_lua_argument(L, 3, "a number of seconds");
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    const char *wants = lua_tostring(L, -1);
    if (!wants) return pg_lua_argument(L, 2, "a word for each channel");
    list[i] = check_channel(L, lua_absindex(L, -2));
    bits[i] =
        (strchr(wants, 'r') ? PG_CHANNEL_READ : 0) | (strchr(wants, 'w') ? PG_CHANNEL_WRITE : 0);
    lua_pop(L, 2);
  }
  if (pg_channel_poll(list, bits, count, seconds, &error)) return pg_lua_raise(L, &error);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushfstring(L, "%s%s%s", bits[i] & PG_CHANNEL_READ ? "r" : "",
                    bits[i] & PG_CHANNEL_WRITE ? "w" : "", bits[i] & PG_CHANNEL_GONE ? "g" : "");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

void pg_bind_channel(lua_State *L) {
  static const luaL_Reg methods[] = {{"read", channel_read},     {"write", channel_write},
                                     {"finish", channel_finish}, {"kill", channel_kill},
                                     {"pid", channel_pid},       {"memory", channel_memory},
                                     {"close", channel_gc},      {NULL, NULL}};
  luaL_newmetatable(L, CHANNEL_META);
  lua_pushcfunction(L, channel_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, channel_gc);
  lua_setfield(L, -2, "__close");
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  static const luaL_Reg functions[] = {{"binary", binary},  {"standard_channel", standard_channel},
                                       {"start", start},    {"connect", core_connect},
                                       {"poll", core_poll}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
