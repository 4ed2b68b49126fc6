/* perigee.so, what `require "perigee"` opens in a stock Lua 5.4: the binding, then the library's
 * init.lua. It links no Lua: the program that loads it brings one. */
#include <dlfcn.h>

#include "../bind/bind.h"

PG_API int luaopen_perigee(lua_State *L);

/* Lua opens modules for themselves alone, but the C modules of tasks call what this one exports. */
static void share_symbols(void) {
  static const char anchor = 0;
  Dl_info info;
  if (dladdr(&anchor, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

int luaopen_perigee(lua_State *L) {
  share_symbols();
  pg_lua_provide(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "perigee.core");
  lua_getfield(L, -1, "home");
  const char *path = lua_pushfstring(L, "%s/lua/perigee/init.lua", lua_tostring(L, -1));
  if (luaL_loadfile(L, path) != LUA_OK) return lua_error(L);
  lua_pushliteral(L, "perigee");
  lua_call(L, 1, 1);
  return 1;
}
