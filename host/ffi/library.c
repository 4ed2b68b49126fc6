/* Libraries and the names in them: ffi.C, ffi.load. A name is looked up once and then lies in a
 * table, which is what __index of the namespace is: a call costs no lookup of ours.
 * Libraries stay loaded: a pointer into one, or a thread that it started, may outlive the object.
 */
#include "cdata.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 512, VERSION_MAX = 99 };

typedef struct library {
  void *handle;
  char name[TEXT_MAX]; /* for messages */
} library;

/* ---- names ---- */

static _Noreturn void unresolved(lua_State *L, const library *lib, const char *name) {
  ffi_fail(L, PG_NOT_FOUND, "cannot resolve symbol '%.100s' in %.300s", name, lib->name);
}

static ct_symbol *declared(lua_State *L, pg_ffi *f, int key) {
  size_t length;
  if (lua_type(L, key) != LUA_TSTRING) pg_lua_argument(L, key, "name of a symbol");
  const char *name = lua_tolstring(L, key, &length);
  ct_symbol *symbol = ct_find(f->types, name, length, false);
  if (!symbol || symbol->kind == CT_TYPEDEF)
    ffi_fail(L, PG_NOT_FOUND, "missing declaration for symbol '%.100s'", name);
  return symbol;
}

static void *address_of(lua_State *L, const library *lib, const ct_symbol *symbol) {
  const char *name = symbol->label ? symbol->label : symbol->name;
  void *at = dlsym(lib->handle, name);
  if (!at) unresolved(L, lib, name);
  return at;
}

/* cache[name], not there yet. Upvalue 2 is the library. */
static int resolve(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const library *lib = lua_touserdata(L, lua_upvalueindex(2));
  const ct_symbol *symbol = declared(L, f, 2);
  if (symbol->kind == CT_OBJECT && symbol->type->kind != CT_FUNC) {
    ffi_push(L, f, symbol->type, address_of(L, lib, symbol), 0);
    return 1; /* a variable: never remembered */
  }
  if (symbol->kind == CT_CONSTANT)
    lua_pushinteger(L, symbol->value);
  else
    cdata_refer(L, f, symbol->type, address_of(L, lib, symbol), CT_NOSIZE, 2); /* its name */
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static int library_newindex(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const library *lib = lua_touserdata(L, 1);
  const ct_symbol *symbol = declared(L, f, 2);
  if (symbol->kind != CT_OBJECT || symbol->type->kind == CT_FUNC || symbol->type->quals & CT_CONST)
    ffi_fail(L, PG_INVALID, "attempt to write to constant location");
  ffi_store(L, f, symbol->type, address_of(L, lib, symbol), 3, NULL);
  return 0;
}

static int library_tostring(lua_State *L) {
  const library *lib = lua_touserdata(L, lua_upvalueindex(2));
  lua_pushfstring(L, "library: %s", lib->name);
  return 1;
}

/* ---- the object ---- */

static void push_cache(lua_State *L, pg_ffi *f, int lib) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushlightuserdata(L, f);
  lua_pushvalue(L, lib);
  lua_pushcclosure(L, resolve, 2);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

void ffi_push_library(lua_State *L, pg_ffi *f, void *handle, const char *name) {
  library *lib = lua_newuserdatauv(L, sizeof *lib, 0);
  int at = lua_gettop(L);
  lib->handle = handle;
  snprintf(lib->name, sizeof lib->name, "%s", name);
  lua_createtable(L, 0, 4);
  push_cache(L, f, at);
  lua_setfield(L, -2, "__index");
  lua_pushlightuserdata(L, f);
  lua_pushvalue(L, at);
  lua_pushcclosure(L, library_tostring, 2);
  lua_setfield(L, -2, "__tostring");
  lua_pushlightuserdata(L, f);
  lua_pushcclosure(L, library_newindex, 1);
  lua_setfield(L, -2, "__newindex");
  lua_pushliteral(L, "ffi");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

/* ---- ffi.load ---- */

/* One file after another is tried; of those that failed one says why. */
typedef struct search {
  int mode;
  const char *file; /* the last one tried; on Lua's stack */
  bool told;        /* `why` is more than that there is no such file */
  char why[TEXT_MAX];
} search;

static void *failed(search *s, const char *file, const char *error) {
  static const char absent[] = ": cannot open shared object file: No such file";
  size_t length = strlen(file);
  bool tells = strncmp(error, file, length) || strncmp(error + length, absent, sizeof absent - 1);
  if (!*s->why || (tells && !s->told)) snprintf(s->why, sizeof s->why, "%s", error);
  s->told |= tells;
  return NULL;
}

/* A file that only names the library, as ld reads it: GROUP ( /lib/x/libm.so.6 ... ). */
static bool script_target(const char *path, char target[TEXT_MAX]) {
  FILE *file = fopen(path, "re");
  char line[1024];
  bool found = false;
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *open = strchr(line, '(');
    if (!strncmp(line, "GROUP", 5) || !strncmp(line, "INPUT", 5))
      found = open && sscanf(open + 1, " %511s", target) == 1;
  }
  if (file) fclose(file);
  return found;
}

static void *open_file(lua_State *L, search *s, const char *file) {
  char target[TEXT_MAX];
  s->file = file;
  void *handle = dlopen(file, s->mode);
  if (handle) return handle;
  const char *error = dlerror(), *colon = strstr(error, ": invalid ELF header");
  const char *path = colon ? lua_pushlstring(L, error, (size_t)(colon - error)) : NULL;
  if (!path || !script_target(path, target)) return failed(s, file, error);
  handle = dlopen(target, s->mode);
  return handle ? handle : failed(s, target, dlerror());
}

/* "m" is libm.so, "m.so.6" libm.so.6; what has a slash is a path. */
static void *find_library(lua_State *L, search *s, const char *name) {
  if (strchr(name, '/')) return open_file(L, s, name);
  bool prefixed = strncmp(name, "lib", 3) == 0, whole = strstr(name, ".so");
  const char *file = lua_pushfstring(L, "%s%s%s", prefixed ? "" : "lib", name, whole ? "" : ".so");
  void *handle = open_file(L, s, file);
  if (!handle && whole && !prefixed) handle = open_file(L, s, name);
  /* Debian puts libfoo.so into a package of its own; libfoo.so.27 is there without it. */
  for (int version = VERSION_MAX; !handle && !whole && version >= 0; version--)
    handle = open_file(L, s, lua_pushfstring(L, "%s.%d", file, version));
  return handle;
}

/* ffi.load(name [, global]) */
int ffi_load(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const char *name = ffi_text(L, 1);
  if (!name || !*name) pg_lua_argument(L, 1, "name of a library, without zero bytes");
  search s = {.mode = RTLD_LAZY | RTLD_NODELETE | (lua_toboolean(L, 2) ? RTLD_GLOBAL : RTLD_LOCAL)};
  ffi_room(L, VERSION_MAX + 32); /* names tried */
  void *handle = find_library(L, &s, name);
  if (!handle) ffi_fail(L, PG_NOT_FOUND, "cannot load library '%.200s': %s", name, s.why);
  ffi_push_library(L, f, handle, s.file);
  return 1;
}
