/* Libraries and the names in them: ffi.C, ffi.load. A name is looked up once and then lies in a
 * table, which is what __index of the namespace is: a call costs no lookup of ours.
 * Libraries stay loaded: a pointer into one, or a thread that it started, may outlive the object.
 */
#include "cdata.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_BYTES = 512 };

typedef struct library {
  void *handle;
  char name[NAME_MAX_BYTES];
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
    cdata_refer(L, f, symbol->type, address_of(L, lib, symbol), CT_NOSIZE, 0);
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

/* "m" is libm.so; what has a slash is a path. */
static void file_name(const char *name, char file[NAME_MAX_BYTES]) {
  bool bare = !strchr(name, '/');
  const char *prefix = bare && strncmp(name, "lib", 3) != 0 ? "lib" : "";
  const char *suffix = bare && !strstr(name, ".so") ? ".so" : "";
  if (bare && strstr(name, ".so")) prefix = "";
  snprintf(file, NAME_MAX_BYTES, "%s%s%s", prefix, name, suffix);
}

/* A file that only names the library, as ld reads it: GROUP ( /lib/x/libm.so.6 ... ). */
static bool script_target(const char *path, char target[NAME_MAX_BYTES]) {
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

static void *open_file(const char *file, int mode) {
  char path[NAME_MAX_BYTES], target[NAME_MAX_BYTES];
  void *handle = dlopen(file, mode);
  if (handle) return handle;
  const char *error = dlerror(), *colon = error ? strchr(error, ':') : NULL;
  if (!colon || !strstr(error, "invalid ELF header")) return NULL;
  snprintf(path, sizeof path, "%.*s", (int)(colon - error), error);
  return script_target(path, target) ? dlopen(target, mode) : dlopen(file, mode);
}

/* Debian puts libfoo.so into a package of its own; libfoo.so.6 is there without it. */
static void *open_versioned(const char *file, int mode) {
  char name[NAME_MAX_BYTES + 16];
  for (int version = 9; version >= 0; version--) {
    snprintf(name, sizeof name, "%s.%d", file, version);
    void *handle = dlopen(name, mode);
    if (handle) return handle;
  }
  return NULL;
}

/* ffi.load(name [, global]) */
int ffi_load(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  char file[NAME_MAX_BYTES], reason[NAME_MAX_BYTES];
  if (lua_type(L, 1) != LUA_TSTRING) pg_lua_argument(L, 1, "name of a library");
  const char *name = lua_tostring(L, 1);
  if (!*name || strlen(name) > NAME_MAX_BYTES - 16) pg_lua_argument(L, 1, "name of a library");
  int mode = RTLD_LAZY | RTLD_NODELETE | (lua_toboolean(L, 2) ? RTLD_GLOBAL : RTLD_LOCAL);
  file_name(name, file);
  void *handle = open_file(file, mode);
  const char *error = handle ? NULL : dlerror();
  snprintf(reason, sizeof reason, "%s", error ? error : "not found");
  if (!handle && !strchr(name, '/') && !strstr(name, ".so")) handle = open_versioned(file, mode);
  if (!handle) ffi_fail(L, PG_NOT_FOUND, "cannot load library '%.200s': %.300s", name, reason);
  ffi_push_library(L, f, handle, file);
  return 1;
}
