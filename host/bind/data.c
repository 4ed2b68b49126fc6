/* Data written as Lua: text that a stranger wrote is run in a state of its own, which has no
 * library, a bounded memory and a bounded number of instructions, and what it returns is copied out
 * as plain tables, strings, numbers and booleans. */
#include "bind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define STATE_BOX "perigee.data_state" /* userdata: evaluation */

enum {
  MEMORY_MOST = 8 << 20,  /* bytes of the other state */
  INSTRUCTIONS = 1000000, /* of its virtual machine */
  HOOK_EVERY = 1000,      /* of them */
  TEXT_MOST = 256 << 10,  /* bytes of source */
  DEPTH_MOST = 16,        /* tables in tables: a cycle ends here, too */
  VALUES_MOST = 100000,   /* that are copied out */
  STRING_MOST = 64 << 10  /* bytes of one string */
};

typedef struct evaluation {
  lua_State *state; /* NULL once closed */
  size_t used;
  int instructions;
  bool out_of_time, no_syntax;
} evaluation;

/* ---- the other state ---- */

static void *bounded_alloc(void *data, void *block, size_t old, size_t size) {
  evaluation *e = data;
  if (!block) old = 0; /* then it says what kind of object, not a size */
  if (size == 0) {
    free(block);
    e->used -= old;
    return NULL;
  }
  if (size > old && size - old > MEMORY_MOST - e->used) return NULL;
  void *moved = realloc(block, size);
  if (moved) e->used = e->used - old + size;
  return moved;
}

static evaluation *evaluation_of(lua_State *state) {
  void *data;
  lua_getallocf(state, &data);
  return data;
}

static void count_instructions(lua_State *state, lua_Debug *frame) {
  evaluation *e = evaluation_of(state);
  e->instructions += HOOK_EVERY;
  if (e->instructions < INSTRUCTIONS) return;
  e->out_of_time = true;
  lua_getinfo(state, "Sl", frame);
  lua_pushfstring(state, "%s:%d: it runs for more than %d instructions", frame->short_src,
                  frame->currentline, INSTRUCTIONS);
  lua_error(state);
}

/* What a name that was never set gives: its use is the usual mistake in a plan. */
static int unknown_name(lua_State *state) {
  const char *name = lua_type(state, 2) == LUA_TSTRING ? lua_tostring(state, 2) : "?";
  return luaL_error(state,
                    "'%s' has no value here\1a plan is data, without libraries; where it needs a "
                    "number, text is an expression: \"%s\"",
                    name, name);
}

/* ( text, bytes, name ): load as text, run in an empty environment, leave one value. Protected. */
static int evaluate(lua_State *state) {
  const char *text = lua_touserdata(state, 1), *name = lua_touserdata(state, 3);
  const size_t *bytes = lua_touserdata(state, 2);
  lua_settop(state, 0);
  if (luaL_loadbufferx(state, text, *bytes, name, "t")) {
    evaluation_of(state)->no_syntax = true;
    return lua_error(state);
  }
  lua_newtable(state);
  lua_newtable(state);
  lua_pushcfunction(state, unknown_name);
  lua_setfield(state, -2, "__index");
  lua_setmetatable(state, -2);
  lua_setupvalue(state, -2, 1);
  lua_sethook(state, count_instructions, LUA_MASKCOUNT, HOOK_EVERY);
  lua_call(state, 0, 1);
  lua_sethook(state, NULL, 0, 0);
  return 1;
}

static int close_state(lua_State *L) {
  evaluation *e = lua_touserdata(L, 1);
  if (e->state) lua_close(e->state);
  e->state = NULL;
  return 0;
}

/* ---- the way out ---- */

typedef struct copier {
  lua_State *from, *to;
  const char *where; /* name of the text */
  int depth, values;
  struct {
    const char *key; /* NULL: an item of a list */
    lua_Integer index;
  } path[DEPTH_MOST + 1];
} copier;

/* Raise in `to`: "launch[2].grid: a plan holds ..." */
static int refuse(const copier *c, const char *problem, const char *hint) {
  pg_error error;
  char path[512] = "";
  size_t used = 0;
  for (int i = 1; i <= c->depth && i < 6; i++) {
    const char *key = c->path[i].key;
    used +=
        (size_t)(key ? snprintf(path + used, sizeof path - used, "%s%.40s", i > 1 ? "." : "", key)
                     : snprintf(path + used, sizeof path - used, "[%lld]",
                                (long long)c->path[i].index));
  }
  if (c->depth >= 6) snprintf(path + used, sizeof path - used, "...");
  pg_fail(&error, PG_INVALID, "%s%s%s", path, *path ? ": " : "", problem);
  if (*hint) pg_hint(&error, "%s", hint);
  pg_where(&error, "%s", c->where);
  return pg_lua_raise(c->to, &error);
}

static void copy_value(copier *c);

static void copy_string(copier *c) {
  size_t length;
  const char *text = lua_tolstring(c->from, -1, &length);
  if (length > STRING_MOST) refuse(c, "a string of more than 64 KiB", "");
  json_t *json = json_stringn(text, length); /* which takes UTF-8 only */
  bool readable = json && !memchr(text, 0, length);
  json_decref(json);
  if (!readable) refuse(c, "a string that is not text (UTF-8 without zeros)", "");
  lua_pushlstring(c->to, text, length);
}

/* The key at index -2 of `from`, onto `to`; it also goes into the path. */
static void copy_key(copier *c) {
  c->path[c->depth].key = NULL;
  c->path[c->depth].index = 0;
  if (lua_type(c->from, -2) == LUA_TSTRING) {
    c->path[c->depth].key = lua_tostring(c->from, -2);
  } else if (lua_isinteger(c->from, -2)) {
    c->path[c->depth].index = lua_tointeger(c->from, -2);
  } else {
    c->depth--;
    refuse(c, "a key that is neither a name nor an integer", "");
  }
  lua_pushvalue(c->from, -2);
  copy_value(c);
  lua_pop(c->from, 1);
}

static void copy_table(copier *c) {
  if (c->depth == DEPTH_MOST) refuse(c, "nested deeper than 16 tables, or in a circle", "");
  lua_newtable(c->to);
  c->depth++;
  for (lua_pushnil(c->from); lua_next(c->from, -2); lua_pop(c->from, 1)) {
    copy_key(c);
    copy_value(c);
    lua_rawset(c->to, -3);
  }
  c->depth--;
}

/* The value on top of `from` onto `to`; `from` keeps it. */
static void copy_value(copier *c) {
  char problem[80];
  if (++c->values > VALUES_MOST) refuse(c, "more than 100000 values", "");
  if (!lua_checkstack(c->from, 8)) refuse(c, "no memory for it", "");
  luaL_checkstack(c->to, 8, "a plan");
  int type = lua_type(c->from, -1);
  switch (type) {
  case LUA_TSTRING: copy_string(c); return;
  case LUA_TBOOLEAN: lua_pushboolean(c->to, lua_toboolean(c->from, -1)); return;
  case LUA_TTABLE: copy_table(c); return;
  case LUA_TNUMBER:
    if (lua_isinteger(c->from, -1))
      lua_pushinteger(c->to, lua_tointeger(c->from, -1));
    else
      lua_pushnumber(c->to, lua_tonumber(c->from, -1));
    return;
  default:
    snprintf(problem, sizeof problem, "expected data, got a %s", lua_typename(c->from, type));
    refuse(c, problem, "it holds tables, strings, numbers and booleans; text may be an expression");
  }
}

/* ---- core.read_data ---- */

/* The message of a failed load or run: "name:3: text\1hint" apart. */
static int raise_failure(lua_State *L, const evaluation *e, const char *name, int status) {
  pg_error error;
  size_t length = strlen(name);
  const char *text = status == LUA_ERRMEM ? NULL : lua_tostring(e->state, -1);
  char message[PG_MESSAGE_MAX / 2];
  snprintf(message, sizeof message, "%s", text ? text : "it needs more than 8 MiB of memory");
  char *hint = strchr(message, '\1');
  if (hint) *hint++ = 0;
  char *said = message;
  pg_code code = e->no_syntax ? PG_SYNTAX : PG_INVALID;
  if (status == LUA_ERRMEM || e->out_of_time) code = PG_RANGE;
  pg_fail(&error, code, "?");
  pg_where(&error, "%s", name);
  if (strncmp(message, name, length) == 0 && message[length] == ':') {
    size_t digits = strspn(message + length + 1, "0123456789");
    if (digits && message[length + 1 + digits] == ':') {
      pg_where(&error, "%.200s:%.*s", name, (int)digits, message + length + 1);
      said = message + length + 1 + digits + 1;
      said += strspn(said, " ");
    }
  }
  snprintf(error.message, sizeof error.message, "%s", said);
  if (hint) pg_hint(&error, "%s", hint);
  return pg_lua_raise(L, &error);
}

static evaluation *new_evaluation(lua_State *L) {
  evaluation *e = lua_newuserdatauv(L, sizeof *e, 0);
  *e = (evaluation){0};
  if (luaL_newmetatable(L, STATE_BOX)) {
    lua_pushcfunction(L, close_state);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  e->state = lua_newstate(bounded_alloc, e);
  if (!e->state) luaL_error(L, "not enough memory");
  return e;
}

/* core.read_data(text, name): the value that the text returns. `name` is for errors, whose `where`
 * is "name:line". */
static int core_read_data(lua_State *L) {
  size_t bytes;
  if (lua_type(L, 1) != LUA_TSTRING) pg_lua_argument(L, 1, "string");
  if (lua_type(L, 2) != LUA_TSTRING) pg_lua_argument(L, 2, "string");
  const char *text = lua_tolstring(L, 1, &bytes), *name = lua_tostring(L, 2);
  char chunk[PG_WHERE_MAX];
  snprintf(chunk, sizeof chunk, "=%s", name);
  evaluation *e = new_evaluation(L);
  copier c = {.from = e->state, .to = L, .where = name};
  if (bytes > TEXT_MOST) refuse(&c, "its text is longer than 256 KiB", "");
  if (bytes > 0 && *text == LUA_SIGNATURE[0])
    refuse(&c, "it is compiled Lua", "a plan is text: give its source");
  lua_pushcfunction(e->state, evaluate);
  lua_pushlightuserdata(e->state, (void *)(uintptr_t)text);
  lua_pushlightuserdata(e->state, &bytes);
  lua_pushlightuserdata(e->state, chunk);
  int status = lua_pcall(e->state, 3, 1, 0);
  if (status) return raise_failure(L, e, name, status);
  if (lua_isnil(e->state, -1)) refuse(&c, "it returns nothing", "write: return { ... }");
  copy_value(&c);
  lua_close(e->state);
  e->state = NULL;
  return 1;
}

void pg_bind_data(lua_State *L) {
  lua_pushcfunction(L, core_read_data);
  lua_setfield(L, -2, "read_data");
}
