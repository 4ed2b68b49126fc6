/* Hosts: a Lua state with Perigee's library inside a C program. Everything that can raise runs
 * under lua_pcall; a host's state is its own, so hosts of different threads share nothing. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

#include "../bind/bind.h"
#include "host.h"

struct pg_host {
  lua_State *L;
};

/* ---- errors of Lua as errors of C ---- */

static void copy_field(lua_State *L, const char *name, char *to, size_t room) {
  if (lua_getfield(L, 1, name) == LUA_TSTRING) snprintf(to, room, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
}

/* Length of the place that Lua puts in front of a message, "file:12" of "file:12: text", or 0. */
static size_t place_length(const char *text) {
  const char *end = text + strcspn(text, "\n");
  for (const char *at = strchr(text, ':'); at && at < end; at = strchr(at + 1, ':')) {
    size_t digits = strspn(at + 1, "0123456789");
    if (digits && strncmp(at + 1 + digits, ": ", 2) == 0) return (size_t)(at + 1 + digits - text);
  }
  return 0;
}

static pg_code fail_placed(pg_error *error, pg_code code, const char *text) {
  size_t place = place_length(text);
  pg_fail(error, code, "%s", text + (place ? place + 2 : 0));
  return place ? pg_where(error, "%.*s", (int)place, text) : code;
}

/* Arguments: an error value and a pg_error. An error table keeps its code, place and hint; anything
 * else is `invalid`, as text. */
static int translate(lua_State *L) {
  pg_error *error = lua_touserdata(L, 2);
  char name[32] = "";
  if (!lua_istable(L, 1)) {
    fail_placed(error, PG_INVALID, luaL_tolstring(L, 1, NULL));
    return 0;
  }
  pg_fail(error, PG_INVALID, "an error table without a message");
  copy_field(L, "message", error->message, sizeof error->message);
  copy_field(L, "hint", error->hint, sizeof error->hint);
  copy_field(L, "where", error->where, sizeof error->where);
  copy_field(L, "code", name, sizeof name);
  if (pg_code_parse(name) != PG_CODE_COUNT) error->code = pg_code_parse(name);
  return 0;
}

/* The error value is on top of the stack, and leaves it. */
static pg_code failed(lua_State *L, int status, pg_error *error) {
  pg_error local = {.code = PG_INVALID};
  if (status == LUA_ERRMEM) {
    lua_pop(L, 1);
    return pg_fail(error, PG_MEMORY, "Lua has no memory");
  }
  lua_pushcfunction(L, translate);
  lua_insert(L, -2);
  lua_pushlightuserdata(L, &local);
  if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
    lua_pop(L, 1);
    pg_fail(&local, PG_INTERNAL, "an error that cannot be told");
  }
  if (error) *error = local;
  return local.code;
}

/* Call `function`, which takes one pointer. */
static pg_code protect(lua_State *L, lua_CFunction function, void *argument, pg_error *error) {
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, argument);
  int status = lua_pcall(L, 1, 0, 0);
  return status == LUA_OK ? PG_OK : failed(L, status, error);
}

/* ---- open and close ---- */

static int prepare(lua_State *L) {
  luaL_openlibs(L);
  pg_lua_provide(L);
  return 0;
}

int pg_host_open(pg_host **out, pg_error *error) {
  NEED(out);
  *out = NULL;
  pg_host *host = calloc(1, sizeof *host);
  if (host) host->L = luaL_newstate();
  if (!host || !host->L) {
    free(host);
    return (int)pg_fail(error, PG_MEMORY, "no memory for a host");
  }
  pg_code code = protect(host->L, prepare, NULL, error);
  if (code)
    pg_host_close(host);
  else
    *out = host;
  return (int)code;
}

void pg_host_close(pg_host *host) {
  if (!host) return;
  lua_close(host->L);
  free(host);
}

/* ---- running ---- */

typedef struct program {
  const char *path, *text, *name;
  const char *const *arguments;
  int count;
  char **result;
} program;

static void set_arguments(lua_State *L, const program *p) {
  lua_createtable(L, p->count, 1);
  lua_pushstring(L, p->path);
  lua_rawseti(L, -2, 0);
  for (int i = 0; i < p->count; i++) {
    lua_pushstring(L, p->arguments[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setglobal(L, "arg");
}

/* The value on top of the stack as text: JSON for a table. */
static void keep_result(lua_State *L, char **result) {
  if (lua_istable(L, -1)) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "perigee.core");
    lua_getfield(L, -1, "json_encode");
    lua_pushvalue(L, -4);
    lua_call(L, 1, 1);
  }
  if (lua_isnil(L, -1)) return;
  pg_error error;
  size_t length;
  const char *text = luaL_tolstring(L, -1, &length);
  if (strlen(text) != length) {
    pg_fail(&error, PG_INVALID, "the result has a zero byte at %zu, where C would cut it",
            strlen(text));
    pg_hint(&error, "give bytes to a primitive, which gets their length");
    pg_lua_raise(L, &error);
  }
  *result = strdup(text);
  if (!*result) luaL_error(L, "no memory for the result");
}

/* What is to run, on the stack; or an error with the code that says what is wrong with it. */
static void load(lua_State *L, const program *p) {
  int status =
      p->path ? luaL_loadfile(L, p->path) : luaL_loadbuffer(L, p->text, strlen(p->text), p->name);
  if (status == LUA_OK) return;
  if (status != LUA_ERRSYNTAX && status != LUA_ERRFILE) lua_error(L);
  pg_error error;
  pg_code code = status == LUA_ERRSYNTAX     ? PG_SYNTAX
                 : access(p->path, F_OK) < 0 ? PG_NOT_FOUND
                                             : PG_IO;
  fail_placed(&error, code, lua_tostring(L, -1));
  pg_lua_raise(L, &error);
}

static int run_program(lua_State *L) {
  const program *p = lua_touserdata(L, 1);
  load(L, p);
  luaL_checkstack(L, p->count + 8, "too many arguments");
  if (p->path) set_arguments(L, p);
  for (int i = 0; i < p->count; i++) lua_pushstring(L, p->arguments[i]);
  lua_call(L, p->count, 1);
  if (p->result) keep_result(L, p->result);
  return 0;
}

int pg_host_file(pg_host *host, const char *path, const char *const *arguments, int argument_count,
                 char **result, pg_error *error) {
  if (result) *result = NULL;
  NEED(host);
  NEED(path);
  int bad = pg_api_texts(__func__, "argument", arguments, argument_count, error);
  if (bad) return bad;
  program p = {.path = path, .arguments = arguments, .count = argument_count, .result = result};
  return (int)protect(host->L, run_program, &p, error);
}

int pg_host_text(pg_host *host, const char *text, const char *name, char **result,
                 pg_error *error) {
  if (result) *result = NULL;
  NEED(host);
  NEED(text);
  program p = {.text = text, .name = name ? name : "=text", .result = result};
  return (int)protect(host->L, run_program, &p, error);
}

/* ---- primitives ---- */

typedef struct primitive {
  int (*function)(pg_call *, void *);
  void *context;
  const char *name; /* only while it is registered */
} primitive;

/* Upvalues: the primitive and its name. */
static int call_primitive(lua_State *L) {
  const primitive *p = lua_touserdata(L, lua_upvalueindex(1));
  pg_call call = {.L = L, .count = lua_gettop(L)};
  luaL_checkstack(L, PG_GIVEN_MAX + 4, "results");
  if (p->function(&call, p->context) == 0) return call.given;
  pg_error error;
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  pg_fail(&error, PG_INVALID, "%s: %s", name, *call.failure ? call.failure : "it failed");
  return pg_lua_raise(L, &error);
}

static int add_primitive(lua_State *L) {
  const primitive *from = lua_touserdata(L, 1);
  primitive *p = lua_newuserdatauv(L, sizeof *p, 0);
  *p = *from;
  lua_pushstring(L, from->name);
  lua_pushcclosure(L, call_primitive, 2);
  lua_setglobal(L, from->name);
  return 0;
}

int pg_host_primitive(pg_host *host, const char *name, int (*function)(pg_call *, void *context),
                      void *context, pg_error *error) {
  NEED(host);
  NEED(name);
  NEED(function);
  primitive p = {.function = function, .context = context, .name = name};
  return (int)protect(host->L, add_primitive, &p, error);
}
