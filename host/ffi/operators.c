/* Operators of cdata: integer arithmetic, pointer arithmetic, comparison, tostring, calls.
 * What is not built in is asked of the metatype. */
#include "cdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef enum operation { ADD, SUB, MUL, DIV, MOD, POW, IDIV } operation;

static int metamethod(lua_State *L, pg_ffi *f, const char *event, int results) {
  for (int i = 1; i <= 2; i++) {
    const cdata *cd = cdata_test(L, f, i);
    if (!cd || !ctype_metamethod(L, cd->type, event)) continue;
    lua_insert(L, 1);
    lua_settop(L, 3);
    lua_call(L, 2, results);
    return results;
  }
  return -1;
}

/* ---- integers ---- */

/* The name of a constant, where the other operand is of its enum. */
static bool constant_of(lua_State *L, pg_ffi *f, int index, int other, pg_number *out) {
  const cdata *cd = cdata_test(L, f, other);
  if (lua_type(L, index) != LUA_TSTRING || !cd || cd->type->kind != CT_ENUM) return false;
  uint64_t raw = 0;
  ffi_store(L, f, cd->type, &raw, index, NULL);
  *out = ffi_number(cd->type, &raw);
  return true;
}

/* Both operands, when they are numbers. */
static bool two_numbers(lua_State *L, pg_ffi *f, pg_number *a, pg_number *b) {
  return (ffi_lua_number(L, f, 1, a) || constant_of(L, f, 1, 2, a)) &&
         (ffi_lua_number(L, f, 2, b) || constant_of(L, f, 2, 1, b));
}

static int64_t power(int64_t base, int64_t exponent, bool is_unsigned) {
  uint64_t result = 1, factor = (uint64_t)base;
  if (exponent < 0 && !is_unsigned) {
    if (base == 0) return INT64_MAX;
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  }
  for (uint64_t left = (uint64_t)exponent; left; left >>= 1, factor *= factor)
    if (left & 1) result *= factor;
  return (int64_t)result;
}

/* Cut towards zero, as LuaJIT does; by zero gives what it gives there. */
static int64_t divide(operation op, int64_t a, int64_t b, bool is_unsigned) {
  if (b == 0) return INT64_MIN;
  if (is_unsigned) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    return (int64_t)(op == MOD ? x % y : x / y);
  }
  if (b == -1) return op == MOD ? 0 : (int64_t)(0 - (uint64_t)a);
  return op == MOD ? a % b : a / b;
}

static int64_t integer_operation(operation op, int64_t a, int64_t b, bool is_unsigned) {
  switch (op) {
  case ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
  case SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
  case MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case POW: return power(a, b, is_unsigned);
  default: return divide(op, a, b, is_unsigned);
  }
}

static int64_t whole(pg_number n) {
  return n.is_float ? ffi_to_int(n.d) : n.i;
}

/* ---- pointers ---- */

static bool is_address(const cdata *cd) {
  return cd && (cd->type->kind == CT_PTR || cd->type->kind == CT_ARRAY);
}

static _Noreturn void bad_operands(lua_State *L, pg_ffi *f, const char *what, const char *joint) {
  char a[CT_NAME_MAX], b[CT_NAME_MAX];
  ffi_fail(L, PG_INVALID, "attempt to %s '%s' %s '%s'", what, ffi_type_text(L, f, 1, a), joint,
           ffi_type_text(L, f, 2, b));
}

static bool pointer_difference(lua_State *L, const cdata *a, const cdata *b) {
  size_t step = a->type->child->base->size;
  if (step == CT_NOSIZE || step == 0) return false;
  if (!ct_same_pointee(a->type->child, b->type->child)) return false;
  uintptr_t bytes = (uintptr_t)cdata_address(a) - (uintptr_t)cdata_address(b);
  lua_pushinteger(L, (int64_t)bytes / (int64_t)step);
  return true;
}

/* The pointer `by` elements on; it keeps alive what the other did. */
static bool move_pointer(lua_State *L, pg_ffi *f, int index, int64_t by) {
  const cdata *cd = cdata_test(L, f, index);
  size_t step = cd->type->child->base->size;
  if (step == CT_NOSIZE) return false;
  void *to = ffi_offset(cdata_address(cd), (uint64_t)by * step);
  cdata_push_pointer(L, f, ffi_need(L, ct_pointer(f->types, cd->type->child)), to);
  return true;
}

static bool pointer_operation(lua_State *L, pg_ffi *f, operation op) {
  const cdata *a = cdata_test(L, f, 1), *b = cdata_test(L, f, 2);
  pg_number number;
  if (op == SUB && is_address(a) && is_address(b)) return pointer_difference(L, a, b);
  if (op != ADD && op != SUB) return false;
  if (is_address(a) && ffi_lua_number(L, f, 2, &number)) {
    int64_t by = whole(number);
    return move_pointer(L, f, 1, op == ADD ? by : (int64_t)(0 - (uint64_t)by));
  }
  if (op == ADD && is_address(b) && ffi_lua_number(L, f, 1, &number))
    return move_pointer(L, f, 2, whole(number));
  return false;
}

static int arithmetic(lua_State *L, operation op, const char *event) {
  pg_ffi *f = ffi_of(L);
  pg_number a, b;
  if (two_numbers(L, f, &a, &b)) {
    bool is_unsigned = a.is_unsigned || b.is_unsigned;
    lua_pushinteger(L, integer_operation(op, whole(a), whole(b), is_unsigned));
    return 1;
  }
  if (pointer_operation(L, f, op)) return 1;
  int results = metamethod(L, f, event, 1);
  if (results < 0) bad_operands(L, f, "perform arithmetic on", "and");
  return results;
}

#define ARITHMETIC(name, op)              \
  static int cdata_##name(lua_State *L) { \
    return arithmetic(L, op, "__" #name); \
  }
ARITHMETIC(add, ADD)
ARITHMETIC(sub, SUB)
ARITHMETIC(mul, MUL)
ARITHMETIC(div, DIV)
ARITHMETIC(mod, MOD)
ARITHMETIC(pow, POW)
ARITHMETIC(idiv, IDIV)

static int cdata_unm(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  pg_number a;
  if (ffi_lua_number(L, f, 1, &a)) {
    lua_pushinteger(L, (int64_t)(0 - (uint64_t)whole(a)));
    return 1;
  }
  int results = metamethod(L, f, "__unm", 1);
  if (results < 0) bad_operands(L, f, "perform arithmetic on", "and");
  return results;
}

/* ---- comparison ---- */

static bool is_comparable(const cdata *cd) {
  return cd && (is_address(cd) || cd->type->kind == CT_FUNC);
}

/* -1, 0 or 1; false when the two are no numbers. */
static bool compare_numbers(lua_State *L, pg_ffi *f, int *order) {
  pg_number a, b;
  if (!two_numbers(L, f, &a, &b)) return false;
  int64_t x = whole(a), y = whole(b);
  bool is_unsigned = a.is_unsigned || b.is_unsigned;
  bool less = is_unsigned ? (uint64_t)x < (uint64_t)y : x < y;
  *order = x == y ? 0 : less ? -1 : 1;
  return true;
}

static const ctype *pointee(const cdata *cd) {
  return cd->type->kind == CT_FUNC ? cd->type : cd->type->child;
}

static bool compare_pointers(lua_State *L, pg_ffi *f, bool ordered, int *order) {
  const cdata *a = cdata_test(L, f, 1), *b = cdata_test(L, f, 2);
  if (!is_comparable(a) || !is_comparable(b)) return false;
  if (ordered && !ct_same_pointee(pointee(a), pointee(b))) return false;
  uintptr_t x = (uintptr_t)cdata_address(a), y = (uintptr_t)cdata_address(b);
  *order = x < y ? -1 : x > y;
  return true;
}

static int cdata_eq(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  int order = 1;
  if (!compare_numbers(L, f, &order) && !compare_pointers(L, f, false, &order)) {
    int results = metamethod(L, f, "__eq", 1);
    if (results >= 0) return results;
    const cdata *a = cdata_test(L, f, 1), *b = cdata_test(L, f, 2);
    order =
        !(a && b && a->type->kind == CT_STRUCT && a->type->base == b->type->base && a->at == b->at);
  }
  lua_pushboolean(L, order == 0);
  return 1;
}

static int ordered(lua_State *L, const char *event, bool with_equal) {
  pg_ffi *f = ffi_of(L);
  int order;
  if (!compare_numbers(L, f, &order) && !compare_pointers(L, f, true, &order)) {
    int results = metamethod(L, f, event, 1);
    if (results < 0) bad_operands(L, f, "compare", "with");
    return results;
  }
  lua_pushboolean(L, order < (with_equal ? 1 : 0));
  return 1;
}

static int cdata_lt(lua_State *L) {
  return ordered(L, "__lt", false);
}

static int cdata_le(lua_State *L) {
  return ordered(L, "__le", true);
}

/* ---- what only a metatype has ---- */

static int only_metatype(lua_State *L, const char *event, const char *what) {
  pg_ffi *f = ffi_of(L);
  char name[CT_NAME_MAX];
  int results = metamethod(L, f, event, 1);
  if (results < 0)
    ffi_fail(L, PG_INVALID, "attempt to %s '%s'", what,
             ffi_type_text(L, f, cdata_test(L, f, 1) ? 1 : 2, name));
  return results;
}

static int cdata_len(lua_State *L) {
  lua_settop(L, 1);
  return only_metatype(L, "__len", "get length of");
}

static int cdata_concat(lua_State *L) {
  return only_metatype(L, "__concat", "concatenate");
}

static int cdata_pairs(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  int results = metamethod(L, f, "__pairs", 3);
  if (results < 0) ffi_fail(L, PG_INVALID, "attempt to iterate over a cdata");
  return results;
}

/* ---- tostring ---- */

static void push_complex(lua_State *L, const cdata *cd) {
  char text[96];
  const ct_field *parts = cd->type->base->fields;
  pg_number re = ffi_number(parts[0].type, cd->at);
  pg_number im = ffi_number(parts[1].type, (const char *)cd->at + parts[1].offset);
  snprintf(text, sizeof text, "%.14g%+.14gi", re.d, im.d);
  lua_pushstring(L, text);
}

static void push_plain(lua_State *L, const cdata *cd) {
  char name[CT_NAME_MAX];
  const ctype *type = cd->type;
  bool reference = cd->reference && (type->kind == CT_STRUCT || type->kind == CT_ARRAY);
  ct_name(type, reference, name);
  char text[CT_NAME_MAX + 64];
  if (type->kind == CT_ENUM)
    snprintf(text, sizeof text, "cdata<%s>: %" PRId64, name,
             type->base->size == 4 ? (int64_t)(int32_t)ffi_number(type, cd->at).i
                                   : ffi_number(type, cd->at).i);
  else if (type->kind == CT_PTR && !*(void **)cd->at)
    snprintf(text, sizeof text, "cdata<%s>: NULL", name);
  else
    snprintf(text, sizeof text, "cdata<%s>: %p", name, cdata_address(cd));
  lua_pushstring(L, text);
}

static int cdata_tostring(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  if (!cd) pg_lua_argument(L, 1, "cdata");
  if (ctype_metamethod(L, cd->type, "__tostring")) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
  }
  if (ct_is_complex(cd->type))
    push_complex(L, cd);
  else
    push_plain(L, cd);
  return 1;
}

static int cdata_gc(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  if (!cd) return 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->finalizers_ref);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    if (cd->reference || cd->type->kind == CT_PTR || !ctype_metamethod(L, cd->type, "__gc"))
      return 0;
  } else if (!lua_toboolean(L, -1)) {
    return 0; /* ffi.gc(cdata, nil) */
  } else {    /* once */
    lua_pushvalue(L, 1);
    lua_pushboolean(L, false);
    lua_rawset(L, -4);
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 0);
  return 0;
}

/* ---- calls ---- */

static int cdata_call(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  if (!cd) pg_lua_argument(L, 1, "cdata");
  ctype *type = cd->type;
  if (type->kind == CT_FUNC) return ffi_call_cdata(L, f, type, cd->at);
  if (type->kind == CT_PTR && type->child->kind == CT_FUNC)
    return ffi_call_cdata(L, f, type->child, *(void **)cd->at);
  if (!ctype_metamethod(L, type, "__call")) {
    char name[CT_NAME_MAX];
    ffi_fail(L, PG_INVALID, "'%s' is not callable", ct_name(type, false, name));
  }
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

void ffi_open_operators(lua_State *L, pg_ffi *f, bool final) {
  static const luaL_Reg functions[] = {{"__add", cdata_add},
                                       {"__sub", cdata_sub},
                                       {"__mul", cdata_mul},
                                       {"__div", cdata_div},
                                       {"__mod", cdata_mod},
                                       {"__pow", cdata_pow},
                                       {"__idiv", cdata_idiv},
                                       {"__unm", cdata_unm},
                                       {"__eq", cdata_eq},
                                       {"__lt", cdata_lt},
                                       {"__le", cdata_le},
                                       {"__len", cdata_len},
                                       {"__concat", cdata_concat},
                                       {"__pairs", cdata_pairs},
                                       {"__tostring", cdata_tostring},
                                       {"__call", cdata_call},
                                       {NULL, NULL}};
  lua_pushlightuserdata(L, f);
  luaL_setfuncs(L, functions, 1);
  if (!final) return;
  lua_pushlightuserdata(L, f);
  lua_pushcclosure(L, cdata_gc, 1);
  lua_setfield(L, -2, "__gc");
}
