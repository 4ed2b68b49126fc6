/* A task's own host code in Lua, for a trusted runner: the Lua state it runs in, which is opened by
 * the first "prepare" and belongs to who declared it. */
#ifndef PG_BIND_EXPERT_H
#define PG_BIND_EXPERT_H

#include <lua.h>

#include "../judge/expert.h"

typedef struct pg_lua_expert {
  lua_State *L;     /* NULL before the first "prepare" */
  int call, finish; /* references to the functions of what is ready */
} pg_lua_expert;

pg_expert pg_lua_expert_of(pg_lua_expert *lua);
void pg_lua_expert_close(pg_lua_expert *lua);

#endif
