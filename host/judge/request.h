/* Fields of a request, checked: each getter names the field, says what it expected and what it got.
 * Strings and lists are borrowed from the request; replies are new references. */
#ifndef PG_REQUEST_H
#define PG_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "../device.h"
#include "../error.h"

/* "field": expected X, got Y. PG_INVALID. `value` NULL says that it is missing. */
pg_code pg_req_expected(const char *key, const char *expected, const json_t *value,
                        pg_error *error);

/* Required fields. */
pg_code pg_req_string(const json_t *object, const char *key, const char **out, pg_error *error);
pg_code pg_req_integer(const json_t *object, const char *key, int64_t min, int64_t max,
                       int64_t *out, pg_error *error);
pg_code pg_req_list(const json_t *object, const char *key, size_t most, const json_t **out,
                    pg_error *error);
/* Optional ones: absent or null leaves *out as it is. */
pg_code pg_opt_string(const json_t *object, const char *key, const char **out, pg_error *error);
pg_code pg_opt_integer(const json_t *object, const char *key, int64_t min, int64_t max,
                       int64_t *out, pg_error *error);
pg_code pg_opt_number(const json_t *object, const char *key, double min, double *out,
                      pg_error *error);
pg_code pg_opt_bool(const json_t *object, const char *key, bool *out, pg_error *error);
/* A list of strings, which stay the object's: at most `most`, so `out` has room for these. */
pg_code pg_opt_strings(const json_t *object, const char *key, size_t most, const char **out,
                       int *count, pg_error *error);
/* 64 bits as an integer (a negative one by its two's complement) or as a string of a u64. */
pg_code pg_opt_u64(const json_t *object, const char *key, uint64_t *out, pg_error *error);
/* A string that is a whole decimal u64. */
bool pg_parse_u64(const char *text, uint64_t *out);

/* Every key of `object` is among `known` ("launch grid block"), or PG_INVALID names the stranger.
 */
pg_code pg_req_known(const json_t *object, const char *known, pg_error *error);

/* ---- replies ---- */

/* A JSON string whatever the bytes: what is no UTF-8 becomes '?'; past `most` bytes it is cut, and
 * the text says how much is missing. */
json_t *pg_json_text(const char *text, size_t most);
/* A text of words separated by spaces, as a list. */
json_t *pg_json_words(const char *text);
/* An integer, or a string above 2^63 - 1. */
json_t *pg_json_u64(uint64_t value);
/* {"ok":false,"error":{...}} */
json_t *pg_reply_error(const pg_error *error);
json_t *pg_json_fault(const pg_fault *fault);
json_t *pg_json_info(const pg_device_info *info);
json_t *pg_json_kernel(const pg_kernel_info *info);
json_t *pg_json_health(const pg_health *health);
/* null when nothing was counted */
json_t *pg_json_counters(const pg_counters *counters);
/* {lines: [{file, line, what was counted there}], hot: [{address, collisions}]} */
json_t *pg_json_profile(const pg_profile *profile);

#endif
