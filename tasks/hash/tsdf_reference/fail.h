/* Filling error values: the host's own functions for it are not exported to modules. Nothing is
 * owned. */
#ifndef TSDF_FAIL_H
#define TSDF_FAIL_H

#include "error.h"

/* As pg_fail and pg_hint of error.h; both return the error's code. */
pg_code tsdf_fail(pg_error *error, pg_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
pg_code tsdf_hint(pg_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
