/* Where perigee's own files are: the command, and the folder that holds lua/, kernels/, tasks/ and
 * validators/. Writes into the caller's buffer; owns nothing. */
#ifndef PG_HOME_H
#define PG_HOME_H

#include "error.h"

enum { PG_PATH_MAX = 4096 };

/* $PERIGEE_HOME, else the first of these that holds lua/perigee: the folder of the binary (or of
 * the library, in another program), its parent and grandparent (build/, build/asan/),
 * ../share/perigee beside it or beside lib/. PG_ENVIRONMENT when there is none. */
pg_code pg_home(char home[PG_PATH_MAX], pg_error *error);
/* Folder of the running binary, or of the shared library that this code is in. */
pg_code pg_own_folder(char folder[PG_PATH_MAX], pg_error *error);
/* The command `perigee`, whose processes are the judge's workers: this very program, or, from a
 * library, $PERIGEE_BIN, else the one beside the library or in ../bin. PG_ENVIRONMENT when there is
 * none. */
pg_code pg_binary(char path[PG_PATH_MAX], pg_error *error);

#endif
