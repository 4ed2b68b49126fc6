/* Compilers that are programs of their own (rustc, Python with Triton), run by the compiler worker
 * in a folder that is gone afterwards. Owns nothing. */
#ifndef PG_TOOL_H
#define PG_TOOL_H

#include <jansson.h>

/* {"op":"tool","argv":[program, ...],"files":{name:text}} runs argv[0], found by PATH, in a new
 * folder that holds the files -> {"ok":true,"status":exit status (-1: a signal),"signal":0 or the
 * one that ended it,"output":its standard output,"log":its standard error,"sandbox":[...]}. A
 * program that is missing is PG_ENVIRONMENT, output past 64 MiB PG_RANGE; tool_wait.h has the other
 * limits. The caller owns the reply.
 *
 * "toolchain":[paths] says that what is compiled is a candidate's, whose host code may run: then
 * the program reads the system's programs and those paths, writes its folder, and is confined as
 * confine.h says; where this kernel cannot do all of that, it is PG_ENVIRONMENT unless
 * "trust":true. */
json_t *pg_tool_handle(const json_t *request);

/* Remove what a worker that was killed left behind; `pid` is its process id. */
void pg_tool_clean(int pid);

#endif
