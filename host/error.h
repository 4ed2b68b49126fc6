/* Error codes and error values.
 * A function that can fail returns a pg_code (0 = PG_OK) and fills the caller's pg_error; it owns
 * nothing. */
#ifndef PG_ERROR_H
#define PG_ERROR_H

#include <stdarg.h>

/*   code           name              text                                                   */
#define PG_CODES(X)                                                          \
  X(OK, "ok", "success")                                                     \
  X(INVALID, "invalid", "an argument has the wrong type, count or form")     \
  X(RANGE, "range", "a value lies outside its range")                        \
  X(NOT_FOUND, "not_found", "a name or file does not exist")                 \
  X(IO, "io", "a file or pipe could not be read or written")                 \
  X(SYNTAX, "syntax", "a text could not be parsed")                          \
  X(MEMORY, "out_of_memory", "not enough memory on the host or the device")  \
  X(COMPILE, "compile_error", "a kernel did not compile")                    \
  X(UNSUPPORTED, "unsupported", "the device cannot do this")                 \
  X(LAUNCH, "launch_error", "a kernel could not be launched or was stopped") \
  X(TIMEOUT, "timeout", "a time limit or instruction budget ended")          \
  X(ENVIRONMENT, "environment", "this machine lacks something")              \
  X(CRASHED, "crashed", "a helper process ended unexpectedly")               \
  X(INTERNAL, "internal", "a defect of perigee itself")

typedef enum pg_code {
#define PG_X(code, name, text) PG_##code,
  PG_CODES(PG_X) PG_CODE_COUNT
#undef PG_X
} pg_code;

enum { PG_MESSAGE_MAX = 2048, PG_HINT_MAX = 512, PG_WHERE_MAX = 256 };

typedef struct pg_error {
  pg_code code;
  char message[PG_MESSAGE_MAX]; /* what was expected and what was got; truncated, never overrun */
  char hint[PG_HINT_MAX];       /* how to fix it; may be empty */
  char where[PG_WHERE_MAX];     /* "file:line" or the name of the thing at fault; may be empty */
} pg_error;

const char *pg_code_name(pg_code code); /* "out_of_memory"; "?" for a number that is no code */
const char *pg_code_text(pg_code code);
pg_code pg_code_parse(const char *name); /* PG_CODE_COUNT when unknown */

/* Set *error and return its code, so that `return pg_fail(error, PG_RANGE, "...", ...)` reads well.
 * A NULL error is allowed: only the code is returned. pg_fail clears hint and where. */
pg_code pg_fail(pg_error *error, pg_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
pg_code pg_failv(pg_error *error, pg_code code, const char *format, va_list args);
/* Add to an error already set; both return its code. */
pg_code pg_hint(pg_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
pg_code pg_where(pg_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
