/* Operators of arrays in Lua: a + b, a - b, a * b, a / b, -a with arrays of equal counts and
 * numbers. The result is a new f64 array with the first array's shape. And products of matrices. */
#include "../arith.h"
#include "../product.h"
#include "bind.h"
#include "value.h"

static pg_operand check_operand(lua_State *L, int arg) {
  pg_operand operand = {.array = pg_lua_test_array(L, arg)};
  if (operand.array) return operand;
  if (lua_type(L, arg) != LUA_TNUMBER) pg_lua_argument(L, arg, "array or number");
  operand.number = lua_tonumber(L, arg);
  return operand;
}

static int push_result(lua_State *L, pg_arith_op op, pg_operand a, pg_operand b) {
  const pg_array *like = a.array ? a.array : b.array;
  if (!like) pg_lua_argument(L, 1, "array"); /* called by hand, not as an operator */
  pg_dtype f64 = pg_dtype_of(PG_F64);
  pg_error error;
  pg_array *out = pg_lua_new_array(L, &f64, like->ndim, like->shape);
  if (pg_arith(out, op, a, b, &error)) return pg_lua_raise(L, &error);
  return 1;
}

static int arith(lua_State *L, pg_arith_op op) {
  pg_operand a = check_operand(L, 1), b = check_operand(L, 2);
  return push_result(L, op, a, b);
}

static int array_add(lua_State *L) {
  return arith(L, PG_ADD);
}

static int array_sub(lua_State *L) {
  return arith(L, PG_SUB);
}

static int array_mul(lua_State *L) {
  return arith(L, PG_MUL);
}

static int array_div(lua_State *L) {
  return arith(L, PG_DIV);
}

/* -a is -1 * a: 0 - a would lose the sign of zero. */
static int array_unm(lua_State *L) {
  return push_result(L, PG_MUL, (pg_operand){.number = -1}, check_operand(L, 1));
}

/* core.product(a, b [, {a_transposed =, b_transposed =}]): a new f64 matrix, or a vector when b is
 * one. */
static int core_product(lua_State *L) {
  static const char *const names[] = {"a_transposed", "b_transposed", NULL};
  pg_factor a = {.array = pg_lua_check_array(L, 1, -1)};
  pg_factor b = {.array = pg_lua_check_array(L, 2, -1)};
  int64_t of_a[2], of_b[2];
  pg_error error;
  lua_settop(L, 3);
  pg_lua_check_options(L, 3, names);
  a.transposed = pg_lua_option_boolean(L, 3, "a_transposed", 0);
  b.transposed = pg_lua_option_boolean(L, 3, "b_transposed", 0);
  if (pg_factor_shape(a, of_a, &error) || pg_factor_shape(b, of_b, &error))
    return pg_lua_raise(L, &error);
  const int64_t shape[2] = {of_a[0], of_b[1]};
  const pg_dtype f64 = pg_dtype_of(PG_F64);
  const int ndim = b.array->ndim == 1 && !b.transposed ? 1 : 2;
  pg_array *out = pg_lua_new_array(L, &f64, ndim, shape);
  if (pg_product(out, a, b, &error)) return pg_lua_raise(L, &error);
  return 1;
}

void pg_bind_arith(lua_State *L) {
  static const luaL_Reg functions[] = {{"product", core_product}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  static const luaL_Reg operators[] = {{"__add", array_add}, {"__sub", array_sub},
                                       {"__mul", array_mul}, {"__div", array_div},
                                       {"__unm", array_unm}, {NULL, NULL}};
  luaL_getmetatable(L, PG_ARRAY_META);
  luaL_setfuncs(L, operators, 0);
  lua_pop(L, 1);
}
