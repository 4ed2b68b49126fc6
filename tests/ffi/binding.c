/* The binding by hand that `make bench-ffi` compares the ffi with: t_add of library.c as a Lua C
 * function, with the checks that anyone would write. */
#include <lauxlib.h>
#include <limits.h>

int luaopen_binding(lua_State *L);

__attribute__((noinline)) static int t_add(int a, double b) {
  return a + (int)b;
}

static int add(lua_State *L) {
  lua_Integer a = luaL_checkinteger(L, 1);
  double b = luaL_checknumber(L, 2);
  luaL_argcheck(L, a >= INT_MIN && a <= INT_MAX, 1, "no int");
  lua_pushinteger(L, t_add((int)a, b));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_binding(lua_State *L) {
  lua_pushcfunction(L, add);
  return 1;
}
