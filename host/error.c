/* Error codes and error values: the table behind PG_CODES and the formatting of messages.
 * Nothing is allocated: a message too long for its buffer is cut. */
#include "error.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *text;
} codes[] = {
#define PG_X(code, name, text) {name, text},
    PG_CODES(PG_X)
#undef PG_X
};

const char *pg_code_name(pg_code code) {
  return (unsigned)code < PG_CODE_COUNT ? codes[code].name : "?";
}

const char *pg_code_text(pg_code code) {
  return (unsigned)code < PG_CODE_COUNT ? codes[code].text : "?";
}

pg_code pg_code_parse(const char *name) {
  int i = 0;
  while (i < PG_CODE_COUNT && strcmp(codes[i].name, name) != 0) i++;
  return (pg_code)i;
}

pg_code pg_failv(pg_error *error, pg_code code, const char *format, va_list args) {
  if (!error) return code;
  /* Formatted aside first: the arguments may point into *error itself. */
  char message[PG_MESSAGE_MAX];
  vsnprintf(message, sizeof message, format, args);
  error->code = code;
  memcpy(error->message, message, sizeof message);
  error->hint[0] = error->where[0] = '\0';
  return code;
}

pg_code pg_fail(pg_error *error, pg_code code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pg_failv(error, code, format, args);
  va_end(args);
  return code;
}

/* Without an error its code is unknown; PG_INVALID keeps a failure a failure. */
pg_code pg_hint(pg_error *error, const char *format, ...) {
  if (!error) return PG_INVALID;
  char hint[PG_HINT_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(hint, sizeof hint, format, args);
  va_end(args);
  memcpy(error->hint, hint, sizeof hint);
  return error->code;
}

pg_code pg_where(pg_error *error, const char *format, ...) {
  if (!error) return PG_INVALID;
  char where[PG_WHERE_MAX];
  va_list args;
  va_start(args, format);
  vsnprintf(where, sizeof where, format, args);
  va_end(args);
  memcpy(error->where, where, sizeof where);
  return error->code;
}
