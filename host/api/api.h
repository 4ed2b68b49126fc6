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

/* Refuse a list of texts of which some are missing. function: who was called; what: "option". */
int pg_api_texts(const char *function, const char *what, const char *const *list, int count,
                 pg_error *error);

#endif
