/* The C API's errors, texts and version.
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

void pg_text_free(char *text) {
  free(text);
}

const char *pg_version(void) {
  return PG_VERSION;
}
