/* Checked access to the fields of a request.
 * A number in a message is quoted as it was sent, so that whoever wrote it finds it again. */
#include "request.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words for a value: scalars as they are, the rest by kind. */
static void describe(const json_t *value, char *text, size_t bytes) {
  switch (value ? json_typeof(value) : JSON_NULL) {
  case JSON_OBJECT: snprintf(text, bytes, "an object"); break;
  case JSON_ARRAY: snprintf(text, bytes, "a list of %zu", json_array_size(value)); break;
  case JSON_STRING: snprintf(text, bytes, "\"%.60s\"", json_string_value(value)); break;
  case JSON_INTEGER: snprintf(text, bytes, "%lld", (long long)json_integer_value(value)); break;
  case JSON_REAL: snprintf(text, bytes, "%.17g", json_real_value(value)); break;
  case JSON_TRUE: snprintf(text, bytes, "true"); break;
  case JSON_FALSE: snprintf(text, bytes, "false"); break;
  case JSON_NULL: snprintf(text, bytes, value ? "null" : "nothing"); break;
  }
}

pg_code pg_req_expected(const char *key, const char *expected, const json_t *value,
                        pg_error *error) {
  char got[96];
  describe(value, got, sizeof got);
  return pg_fail(error, PG_INVALID, "\"%s\": expected %s, got %s", key, expected, got);
}

static const json_t *field(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_null(value) ? NULL : value;
}

pg_code pg_opt_string(const json_t *object, const char *key, const char **out, pg_error *error) {
  const json_t *value = field(object, key);
  if (!value) return PG_OK;
  if (!json_is_string(value)) return pg_req_expected(key, "a string", value, error);
  *out = json_string_value(value);
  return PG_OK;
}

pg_code pg_req_string(const json_t *object, const char *key, const char **out, pg_error *error) {
  if (!field(object, key)) return pg_req_expected(key, "a string", NULL, error);
  return pg_opt_string(object, key, out, error);
}

pg_code pg_opt_integer(const json_t *object, const char *key, int64_t min, int64_t max,
                       int64_t *out, pg_error *error) {
  const json_t *value = field(object, key);
  char expected[80];
  if (!value) return PG_OK;
  int64_t got = json_integer_value(value);
  if (!json_is_integer(value) || got < min || got > max) {
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)min,
             (long long)max);
    return pg_req_expected(key, expected, value, error);
  }
  *out = got;
  return PG_OK;
}

pg_code pg_req_integer(const json_t *object, const char *key, int64_t min, int64_t max,
                       int64_t *out, pg_error *error) {
  if (!field(object, key)) return pg_req_expected(key, "an integer", NULL, error);
  return pg_opt_integer(object, key, min, max, out, error);
}

pg_code pg_req_list(const json_t *object, const char *key, size_t most, const json_t **out,
                    pg_error *error) {
  const json_t *value = field(object, key);
  char expected[80];
  if (!json_is_array(value) || json_array_size(value) > most) {
    snprintf(expected, sizeof expected, "a list of at most %zu", most);
    return pg_req_expected(key, expected, value, error);
  }
  *out = value;
  return PG_OK;
}

pg_code pg_opt_number(const json_t *object, const char *key, double min, double *out,
                      pg_error *error) {
  const json_t *value = field(object, key);
  char expected[80];
  if (!value) return PG_OK;
  double got = json_number_value(value);
  if (!json_is_number(value) || !(got >= min)) {
    snprintf(expected, sizeof expected, "a number of at least %g", min);
    return pg_req_expected(key, expected, value, error);
  }
  *out = got;
  return PG_OK;
}

pg_code pg_opt_bool(const json_t *object, const char *key, bool *out, pg_error *error) {
  const json_t *value = field(object, key);
  if (!value) return PG_OK;
  if (!json_is_boolean(value)) return pg_req_expected(key, "true or false", value, error);
  *out = json_is_true(value);
  return PG_OK;
}

bool pg_parse_u64(const char *text, uint64_t *out) {
  char *end;
  if (text[0] < '0' || text[0] > '9') return false; /* strtoull takes signs and blanks */
  errno = 0;
  *out = strtoull(text, &end, 10);
  return errno == 0 && *end == 0;
}

pg_code pg_opt_strings(const json_t *object, const char *key, size_t most, const char **out,
                       int *count, pg_error *error) {
  const json_t *list = json_object_get(object, key);
  *count = 0;
  if (!list || json_is_null(list)) return PG_OK;
  pg_code code = pg_req_list(object, key, most, &list, error);
  for (size_t i = 0; !code && i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i);
    if (!json_is_string(item)) return pg_req_expected(key, "strings", item, error);
    out[(*count)++] = json_string_value(item);
  }
  return code;
}

pg_code pg_opt_u64(const json_t *object, const char *key, uint64_t *out, pg_error *error) {
  const json_t *value = field(object, key);
  if (!value) return PG_OK;
  if (json_is_integer(value))
    *out = (uint64_t)json_integer_value(value);
  else if (!json_is_string(value) || !pg_parse_u64(json_string_value(value), out))
    return pg_req_expected(key, "an integer or a string of an unsigned 64-bit one", value, error);
  return PG_OK;
}

static bool is_word_of(const char *key, const char *words) {
  size_t n = strlen(key);
  for (const char *at = words; n > 0 && (at = strstr(at, key)); at += n)
    if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
  return false;
}

pg_code pg_req_known(const json_t *object, const char *known, pg_error *error) {
  const char *key;
  json_t *value;
  if (!json_is_object(object))
    return pg_fail(error, PG_INVALID, "expected an object with fields %s", known);
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    if (is_word_of(key, known)) continue;
    pg_fail(error, PG_INVALID, "unknown field \"%.60s\"", key);
    return pg_hint(error, "the fields are %s", known);
  }
  return PG_OK;
}
