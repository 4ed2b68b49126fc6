/* The Lua module sort.sorted: u32 keys in ascending order, as a new array. */
#include <string.h>

#include "bind/bind.h"

/* One pass by 16 bits. */
static void pass(const uint32_t *from, uint32_t *to, size_t count, int shift, size_t *start) {
  memset(start, 0, (65536 + 1) * sizeof *start);
  for (size_t i = 0; i < count; i++) start[(from[i] >> shift & 65535) + 1]++;
  for (int d = 0; d < 65536; d++) start[d + 1] += start[d];
  for (size_t i = 0; i < count; i++) to[start[from[i] >> shift & 65535]++] = from[i];
}

static int of(lua_State *L) {
  const pg_array *keys = pg_lua_check_array(L, 1, PG_U32);
  const pg_array *half = pg_lua_new_array(L, &keys->dtype, keys->ndim, keys->shape);
  const pg_array *sorted = pg_lua_new_array(L, &keys->dtype, keys->ndim, keys->shape);
  size_t *start = lua_newuserdatauv(L, (65536 + 1) * sizeof *start, 0);
  pass(keys->data, half->data, keys->count, 0, start);
  pass(half->data, sorted->data, keys->count, 16, start);
  lua_settop(L, 3);
  return 1;
}

PG_API int luaopen_sort_sorted(lua_State *L) {
  static const luaL_Reg functions[] = {{"of", of}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
