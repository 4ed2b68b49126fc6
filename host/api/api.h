/* What the files of the C API share. Public functions check their pointers with NEED and return a
 * pg_code as an int. */
#ifndef PG_API_API_H
#define PG_API_API_H

#include "../error.h"
#include "../perigee.h"

#define NEED(pointer)                                                                             \
  do {                                                                                            \
    if (!(pointer)) return (int)pg_fail(error, PG_INVALID, "%s: %s is NULL", __func__, #pointer); \
  } while (0)

#endif
