/* Makes Perigee's own modules known to a Lua state: the command, an embedded host and stock Lua all
 * start here. Where its Lua library lies is put in front of package.path and package.cpath. */
#include <string.h>

#include "../home.h"
#include "bind.h"

/* Put `ours` in front of package.<field>. */
static void prepend_path(lua_State *L, const char *field, const char *ours) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, field);
  lua_pushfstring(L, "%s;%s", ours, lua_tostring(L, -1));
  lua_setfield(L, -3, field);
  lua_pop(L, 2);
}

/* Lua's templates give ';' and '?' a meaning and know no escape. */
static pg_code check_path(const char *path, pg_error *error) {
  if (!strpbrk(path, ";?")) return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "the path '%s' contains ';' or '?', which Lua cannot search",
          path);
  return pg_hint(error, "move perigee to another folder");
}

static pg_code set_paths(lua_State *L, pg_error *error) {
  char home[PG_PATH_MAX], folder[PG_PATH_MAX];
  pg_code code = pg_home(home, error);
  if (!code) code = pg_own_folder(folder, error);
  if (!code) code = check_path(home, error);
  if (!code) code = check_path(folder, error);
  if (code) return code;
  prepend_path(L, "path", lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua", home, home));
  prepend_path(L, "cpath", lua_pushfstring(L, "%s/lib/?.so;%s/lib/?.so", folder, home));
  lua_pop(L, 2);
  return PG_OK;
}

void pg_lua_provide(lua_State *L) {
  pg_error error;
  luaL_requiref(L, "perigee.core", luaopen_perigee_core, 0);
  lua_pop(L, 1);
  luaL_requiref(L, "ffi", luaopen_ffi, 0); /* now: it ends after every object of a script */
  lua_pop(L, 1);
  if (set_paths(L, &error)) pg_lua_raise(L, &error);
}
