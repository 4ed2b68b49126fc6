/* Between Lua values and elements of arrays: dtypes as Lua values, one element to and from the
 * stack. Owns nothing; elements are written in place. */
#ifndef PG_BIND_VALUE_H
#define PG_BIND_VALUE_H

#include "bind.h"

#define PG_DTYPE_META "perigee.dtype"

enum { PG_DESCRIPTION_MAX = 96 };

/* "bad argument #2 to 'fill'", as the script counts arguments. */
void pg_lua_describe_argument(lua_State *L, int arg, char text[PG_DESCRIPTION_MAX]);
/* Type of the value at `arg` for a message that expected something else. */
const char *pg_lua_type_name(lua_State *L, int arg, const char *expected);

/* Push an element: an integer, number or boolean; a table by field names for a struct (inline
 * arrays as lists). u64 above 2^63 - 1 comes as its two's complement. */
void pg_lua_push_element(lua_State *L, const pg_dtype *dtype, const void *at);
/* Write argument `arg` of the running function to an element. Raises PG_INVALID for a value of the
 * wrong type and PG_RANGE for an integer that the dtype does not hold; a struct's missing fields
 * keep their value. */
void pg_lua_read_element(lua_State *L, int arg, const pg_dtype *dtype, void *at);
void pg_lua_push_dtype(lua_State *L, const pg_dtype *dtype);
void pg_bind_dtype(lua_State *L);
/* Add the methods of array_methods.c to the table on top of the stack. */
void pg_bind_array_methods(lua_State *L);

static inline char *pg_element(const pg_array *array, size_t index) {
  return (char *)array->data + index * array->dtype.size;
}

/* Fields of the table on top of the stack. */
static inline void pg_lua_set_integer(lua_State *L, const char *name, lua_Integer value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static inline void pg_lua_set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

/* Options of a call given as a table: field `name` of the table at `index`, or the default. Raise
 * "option 'seed': expected integer, got string". index may be none or nil: then every option is
 * absent. */
lua_Integer pg_lua_option_integer(lua_State *L, int index, const char *name, lua_Integer absent);
double pg_lua_option_number(lua_State *L, int index, const char *name, double absent);
int pg_lua_option_boolean(lua_State *L, int index, const char *name, int absent);
/* Of the table at `index`; the text is alive as long as the table has it. NULL when it is absent.
 */
const char *pg_lua_option_text(lua_State *L, int index, const char *name, bool required);
/* Texts, ended by NULL; none when absent. What holds them is left on the stack. */
const char *const *pg_lua_option_texts(lua_State *L, int index, const char *name, int most,
                                       int *count);
/* Raise PG_INVALID unless the argument is a table (or absent) whose keys are all in `names`
 * (NULL-ended). */
void pg_lua_check_options(lua_State *L, int index, const char *const names[]);

lua_Integer pg_lua_check_integer(lua_State *L, int arg);
double pg_lua_check_number(lua_State *L, int arg);
/* A string, not a number that would be converted. */
const char *pg_lua_check_string(lua_State *L, int arg, size_t *length);
/* A path: no zero byte, for the system would cut it there. */
const char *pg_lua_check_path(lua_State *L, int arg);
/* Results of a function: nil and an error that says, from errno, why one cannot `what` the path. */
int pg_lua_cannot(lua_State *L, const char *what, const char *path);
/* The userdata on top is closed by `close`: when it leaves a scope, and by the collector. */
void pg_lua_closed_by(lua_State *L, lua_CFunction close);

#endif
