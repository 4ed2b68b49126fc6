/* JSON for Lua over jansson: sorted keys, 17 digits, exact integers; NaN and infinities become
 * strings. A json_t lives in a box on the Lua stack, so that an error on the way frees it. */
#include "bind.h"
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define JSON_BOX "perigee.json"               /* userdata: json_t * */
#define JSON_ARRAY_META "perigee.array_table" /* marks a Lua table as a JSON array */

enum { DEPTH_MAX = 100 };

/* ---- Lua to JSON ---- */

/* Keys and indices that lead to the value at hand, so that a complaint can name it. */
typedef struct encoder {
  lua_State *L;
  int depth;
  struct {
    const char *key; /* NULL: an item of a list */
    lua_Integer index;
  } path[DEPTH_MAX + 1];
} encoder;

static json_t *encode(encoder *e, int index);

static int refuse(const encoder *e, const char *problem) {
  enum { SHOWN = 8 }; /* levels; a cycle would fill the screen */
  pg_error error;
  char path[PG_MESSAGE_MAX / 2] = "value";
  size_t used = strlen(path);
  for (int i = 1; i <= e->depth && i <= SHOWN; i++) {
    const char *key = e->path[i].key;
    long long index = e->path[i].index;
    used += (size_t)(key ? snprintf(path + used, sizeof path - used, ".%.60s", key)
                         : snprintf(path + used, sizeof path - used, "[%lld]", index));
  }
  if (e->depth > SHOWN) snprintf(path + used, sizeof path - used, "...");
  pg_fail(&error, PG_INVALID, "cannot write JSON: %s %s", path, problem);
  return pg_lua_raise(e->L, &error);
}

/* A value that jansson could not make: out of memory. */
static json_t *made(const encoder *e, json_t *value) {
  if (!value) luaL_error(e->L, "not enough memory");
  return value;
}

static json_t *encode_string(const encoder *e, int index) {
  size_t length;
  const char *text = lua_tolstring(e->L, index, &length);
  json_t *value = json_stringn(text, length);
  if (!value) refuse(e, "is a string that is not valid UTF-8");
  return value;
}

static json_t *encode_number(const encoder *e, int index) {
  if (lua_isinteger(e->L, index)) return made(e, json_integer(lua_tointeger(e->L, index)));
  double number = lua_tonumber(e->L, index);
  if (isfinite(number)) return made(e, json_real(number));
  return made(e, json_string(isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity"));
}

static bool is_marked_array(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return false;
  luaL_getmetatable(L, JSON_ARRAY_META);
  bool marked = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return marked;
}

/* A list has the keys 1..n and nothing else. An empty table is an object unless it is marked. */
static bool is_list(lua_State *L, int index) {
  return is_marked_array(L, index) || lua_rawlen(L, index) > 0;
}

static const char not_a_container[] =
    "is a table that is neither a list (keys 1 to n) nor an object (names)";

static void encode_items(encoder *e, int index, json_t *list) {
  lua_State *L = e->L;
  lua_Unsigned length = lua_rawlen(L, index), pairs = 0;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) pairs++;
  if (pairs != length) refuse(e, not_a_container);
  e->depth++;
  for (lua_Unsigned i = 1; i <= length; i++) {
    e->path[e->depth].key = NULL;
    e->path[e->depth].index = (lua_Integer)i;
    lua_rawgeti(L, index, (lua_Integer)i);
    if (json_array_append_new(list, encode(e, lua_gettop(L)))) luaL_error(L, "not enough memory");
    lua_pop(L, 1);
  }
  e->depth--;
}

static void encode_members(encoder *e, int index, json_t *object) {
  lua_State *L = e->L;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) refuse(e, not_a_container);
    const char *key = lua_tostring(L, -2);
    if (strlen(key) != lua_rawlen(L, -2)) refuse(e, "has a name with a zero byte in it");
    e->path[++e->depth].key = key;
    json_t *member = encode(e, lua_gettop(L));
    if (json_object_set_new(object, key, member)) refuse(e, "has a name that is not valid UTF-8");
    e->depth--;
  }
}

static json_t **push_box(lua_State *L) {
  json_t **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  luaL_setmetatable(L, JSON_BOX);
  return box;
}

/* Boxed while it is being filled, for that may raise. */
static json_t *encode_table(encoder *e, int index) {
  lua_State *L = e->L;
  if (e->depth == DEPTH_MAX) refuse(e, "is nested deeper than 100 levels, or in a cycle");
  luaL_checkstack(L, 8, "JSON");
  bool list = is_list(L, index);
  json_t **box = push_box(L);
  *box = made(e, list ? json_array() : json_object());
  if (list)
    encode_items(e, index, *box);
  else
    encode_members(e, index, *box);
  json_t *value = *box;
  *box = NULL;
  lua_pop(L, 1);
  return value;
}

static json_t *encode(encoder *e, int index) {
  lua_State *L = e->L;
  switch (lua_type(L, index)) {
  case LUA_TNIL: return json_null();
  case LUA_TBOOLEAN: return json_boolean(lua_toboolean(L, index));
  case LUA_TNUMBER: return encode_number(e, index);
  case LUA_TSTRING: return encode_string(e, index);
  case LUA_TTABLE: return encode_table(e, index);
  case LUA_TLIGHTUSERDATA:
    if (!lua_touserdata(L, index)) return json_null();
    break;
  default: break;
  }
  char problem[64];
  snprintf(problem, sizeof problem, "is a %s, which JSON does not have", luaL_typename(L, index));
  refuse(e, problem);
  return NULL;
}

/* jansson hands its text over in pieces; a failure to grow is reported by the return value. */
typedef struct text {
  char *at;
  size_t length, room;
} text;

static int append(const char *piece, size_t size, void *to) {
  text *t = to;
  if (t->length + size > t->room) {
    size_t room = (t->length + size) * 2;
    char *grown = realloc(t->at, room);
    if (!grown) return -1;
    t->at = grown, t->room = room;
  }
  memcpy(t->at + t->length, piece, size);
  t->length += size;
  return 0;
}

/* core.json_encode(value [, pretty]) */
static int core_json_encode(lua_State *L) {
  if (lua_isnone(L, 1)) pg_lua_argument(L, 1, "value");
  size_t flags = JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17);
  flags |= lua_toboolean(L, 2) ? JSON_INDENT(2) : JSON_COMPACT;
  lua_settop(L, 1);
  json_t **box = push_box(L);
  encoder e = {.L = L, .depth = 0};
  *box = encode(&e, 1);
  text t = {0};
  int failed = json_dump_callback(*box, append, &t, flags);
  if (!failed) lua_pushlstring(L, t.at, t.length);
  free(t.at);
  return failed ? luaL_error(L, "not enough memory") : 1;
}

/* ---- JSON to Lua ---- */

static void push_json(lua_State *L, json_t *value);

static void push_list(lua_State *L, json_t *value) {
  size_t length = json_array_size(value);
  lua_createtable(L, (int)length, 0);
  luaL_setmetatable(L, JSON_ARRAY_META);
  for (size_t i = 0; i < length; i++) {
    push_json(L, json_array_get(value, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

static void push_object(lua_State *L, json_t *value) {
  const char *key;
  json_t *member;
  lua_createtable(L, 0, (int)json_object_size(value));
  json_object_foreach(value, key, member) {
    push_json(L, member);
    lua_setfield(L, -2, key);
  }
}

static void push_json(lua_State *L, json_t *value) {
  luaL_checkstack(L, 4, "JSON");
  switch (json_typeof(value)) {
  case JSON_OBJECT: push_object(L, value); return;
  case JSON_ARRAY: push_list(L, value); return;
  case JSON_STRING: lua_pushlstring(L, json_string_value(value), json_string_length(value)); return;
  case JSON_INTEGER: lua_pushinteger(L, json_integer_value(value)); return;
  case JSON_REAL: lua_pushnumber(L, json_real_value(value)); return;
  case JSON_TRUE: lua_pushboolean(L, 1); return;
  case JSON_FALSE: lua_pushboolean(L, 0); return;
  case JSON_NULL: lua_pushlightuserdata(L, NULL); return;
  }
}

/* Whether a text has more than `most` values, members' names aside: each begins it, a list, an
 * object, or comes behind a comma. Some of a text that is no JSON may be counted. */
static bool has_more_values(const char *source, size_t length, lua_Integer most) {
  lua_Integer count = 1;
  bool inside = false; /* of a string */
  for (size_t i = 0; i < length && count <= most; i++) {
    if (inside && source[i] == '\\') {
      i++;
    } else if (source[i] == '"') {
      inside = !inside;
    } else if (!inside) {
      count += source[i] == ',' || source[i] == '[' || source[i] == '{';
    }
  }
  return count > most;
}

/* core.json_decode(text [, most]): the value, or nil and "line 3, column 7: ...". null becomes
 * core.null. A text of more than `most` values is refused before any of them takes memory. */
static int core_json_decode(lua_State *L) {
  size_t length;
  json_error_t error;
  const char *source = pg_lua_check_string(L, 1, &length);
  lua_Integer most = lua_isnoneornil(L, 2) ? LUA_MAXINTEGER : pg_lua_check_integer(L, 2);
  if (most < LUA_MAXINTEGER && has_more_values(source, length, most)) {
    lua_pushnil(L);
    lua_pushfstring(L, "more than %I values", (LUAI_UACINT)most);
    return 2;
  }
  json_t **box = push_box(L);
  *box =
      json_loadb(source, length, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &error);
  if (*box) {
    push_json(L, *box);
    return 1;
  }
  lua_pushnil(L);
  lua_pushfstring(L, "line %d, column %d: %s", error.line, error.column, error.text);
  return 2;
}

/* core.json_array(table): mark it as an array, so that it stays one when it is empty. */
static int core_json_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) lua_settop(L, 0), lua_newtable(L);
  if (!lua_istable(L, 1)) return pg_lua_argument(L, 1, "table");
  lua_settop(L, 1);
  luaL_setmetatable(L, JSON_ARRAY_META);
  return 1;
}

static int box_gc(lua_State *L) {
  json_t **box = luaL_checkudata(L, 1, JSON_BOX);
  json_decref(*box);
  *box = NULL;
  return 0;
}

void pg_bind_json(lua_State *L) {
  static const luaL_Reg functions[] = {{"json_encode", core_json_encode},
                                       {"json_decode", core_json_decode},
                                       {"json_array", core_json_array},
                                       {NULL, NULL}};
  luaL_newmetatable(L, JSON_BOX);
  lua_pushcfunction(L, box_gc);
  lua_setfield(L, -2, "__gc");
  luaL_newmetatable(L, JSON_ARRAY_META);
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 0);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
