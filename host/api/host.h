/* A call from Lua to a C primitive: what host.c and call.c share. A call lives on the C stack while
 * its primitive runs. */
#ifndef PG_API_HOST_H
#define PG_API_HOST_H

#include <lua.h>

enum { PG_GIVEN_MAX = 16, PG_FAILURE_MAX = 512 };

struct pg_call {
  lua_State *L;
  int count; /* arguments */
  int given; /* results, on the stack above the arguments */
  char failure[PG_FAILURE_MAX];
};

#endif
