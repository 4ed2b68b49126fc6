/* Compilers that are programs of their own (rustc, Python with Triton), run by the compiler worker
 * in a folder that is gone afterwards. Owns nothing. */
#ifndef PG_TOOL_H
#define PG_TOOL_H

#include <jansson.h>

/* {"op":"tool","argv":[program, ...],"files":{name:text}} runs argv[0], found by PATH, in a new
 * folder that holds the files -> {"ok":true,"status":exit status (-1: a signal),"signal":0 or the
 * one that ended it,"output":its standard output,"log":its standard error}. A program that is
 * missing is PG_ENVIRONMENT, output past 64 MiB PG_RANGE. The caller owns the reply. */
json_t *pg_tool_handle(const json_t *request);

/* Remove what a worker that was killed left behind; `pid` is its process id. */
void pg_tool_clean(int pid);

#endif
