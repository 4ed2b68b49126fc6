/* See fail.h. */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

pg_code tsdf_fail(pg_error *error, pg_code code, const char *format, ...) {
  va_list args;
  error->code = code;
  error->hint[0] = error->where[0] = 0;
  va_start(args, format);
  vsnprintf(error->message, sizeof error->message, format, args);
  va_end(args);
  return code;
}

pg_code tsdf_hint(pg_error *error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(error->hint, sizeof error->hint, format, args);
  va_end(args);
  return error->code;
}
