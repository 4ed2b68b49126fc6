/* The C API's errors, texts, lists of texts, and version.
 * A pg_error is the one of error.h, opaque to the public. */
#include "api.h"

#include <stdlib.h>

pg_error *pg_error_new(void) {
  return calloc(1, sizeof(pg_error));
}

void pg_error_free(pg_error *error) {
  free(error);
}

const char *pg_error_code(const pg_error *error) {
  return error ? pg_code_name(error->code) : "";
}

const char *pg_error_message(const pg_error *error) {
  return error ? error->message : "";
}

const char *pg_error_hint(const pg_error *error) {
  return error ? error->hint : "";
}

const char *pg_error_where(const pg_error *error) {
  return error ? error->where : "";
}

int pg_api_texts(const char *function, const char *what, const char *const *list, int count,
                 pg_error *error) {
  if (count < 0 || (count && !list))
    return (int)pg_fail(error, PG_INVALID, "%s: %d %ss in a list that is %s", function, count, what,
                        list ? "there" : "NULL");
  for (int i = 0; i < count; i++)
    if (!list[i]) return (int)pg_fail(error, PG_INVALID, "%s: %s #%d is NULL", function, what, i);
  return 0;
}

void pg_text_free(char *text) {
  free(text);
}

const char *pg_version(void) {
  return PG_VERSION;
}
