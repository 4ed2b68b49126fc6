/* The compiler worker's requests: one compilation a process, confined before the compiler sees the
 * source. Owns nothing. */
#ifndef PG_COMPILER_H
#define PG_COMPILER_H

#include <jansson.h>
#include <stdbool.h>

typedef struct pg_compiler {
  char *sandbox; /* names of the restrictions that hold, PG_SANDBOX_MAX bytes; more are appended */
  bool used;
} pg_compiler;

/* {"op":"compile",...} -> {"ok":true,"ptx",...,"sandbox"}, or an error with the compiler's "log"; a
 * second one is PG_INVALID. The caller owns the reply. {"op":"prepare"} loads the compiler ahead of
 * need -> {"ok":true,"compiler"};
 * {"op":"tool"}: see tool.h. */
json_t *pg_compiler_handle(pg_compiler *compiler, const json_t *request);

#endif
