/* Where perigee's own files are: the folder that holds lua/, kernels/, tasks/ and validators/.
 * Writes into the caller's buffer; owns nothing. */
#ifndef PG_HOME_H
#define PG_HOME_H

#include "../error.h"

enum { PG_PATH_MAX = 4096 };

/* $PERIGEE_HOME, else the first of these that holds lua/perigee: the folder of the binary, its
 * parent and grandparent (build/, build/asan/), ../share/perigee beside it. PG_ENVIRONMENT when
 * there is none. */
pg_code pg_home(char home[PG_PATH_MAX], pg_error *error);
/* Folder of the running binary. */
pg_code pg_binary_folder(char folder[PG_PATH_MAX], pg_error *error);

#endif
