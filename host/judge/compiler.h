/* The compiler worker's requests. Owns nothing. */
#ifndef PG_COMPILER_H
#define PG_COMPILER_H

#include <jansson.h>

/* {"op":"compile",...} -> {"ok":true,"ptx",...}, or an error with the compiler's "log". The caller
 * owns the reply. {"op":"prepare"} loads the compiler ahead of need -> {"ok":true,"compiler"};
 * {"op":"tool"}: see tool.h. */
json_t *pg_compiler_handle(const json_t *request);

#endif
