/* Calls without libffi, which takes as long as all the rest: of functions whose arguments all lie
 * in registers. On x86-64 and aarch64 integers and floating numbers have registers of their own, so
 * a call that fills all of either kind reaches any such function, which reads those that it knows.
 */
#include "cdata.h"

#include <errno.h>

enum { INTEGERS = 6, REALS = 8 };

#if defined(__x86_64__) || defined(__aarch64__)
static bool is_real(const ctype *type) {
  return type->kind == CT_FLOAT;
}

static bool fits_register(const ctype *type) {
  if (type->kind == CT_STRUCT || (is_real(type) && type->size > 8)) return false;
  return type->base->size != CT_NOSIZE;
}

bool ffi_is_direct(const ctype *function) {
  int integers = 0, reals = 0;
  if (function->variadic) return false;
  if (function->child->kind != CT_VOID && !fits_register(function->child)) return false;
  for (uint32_t i = 0; i < function->count; i++) {
    const ctype *type = function->fields[i].type;
    if (!fits_register(type)) return false;
    if (is_real(type))
      reals++;
    else
      integers++;
  }
  return integers <= INTEGERS && reals <= REALS;
}

/* char and short arrive extended to an int. */
static int64_t extended(const ctype *type, int64_t value) {
  if (type->size == 2) return type->is_unsigned ? (uint16_t)value : (int16_t)value;
  return type->is_unsigned ? (uint8_t)value : (int8_t)value;
}

static inline int64_t integer(lua_State *L, pg_ffi *f, ctype *type, int index) {
  pg_slot slot = {.i = 0};
  if (type->kind == CT_INT && lua_isinteger(L, index))
    slot.i = lua_tointeger(L, index);
  else
    ffi_argument(L, f, type, &slot, index);
  return type->kind == CT_INT && type->size < 4 ? extended(type, slot.i) : slot.i;
}

/* A float is the low half of a register, as it is of a slot. */
static inline double real(lua_State *L, pg_ffi *f, ctype *type, int index) {
  pg_slot slot = {.i = 0};
  if (type->size == 8 && lua_type(L, index) == LUA_TNUMBER) return lua_tonumber(L, index);
  ffi_argument(L, f, type, &slot, index);
  return slot.d;
}

typedef int64_t integers_only(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
typedef int64_t to_integer(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double,
                           double, double, double, double, double, double);
typedef double to_real(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, double, double, double,
                       double, double, double, double, double);

static inline void enter(const ctype *function, void *entry, const int64_t i[INTEGERS],
                         const double d[REALS], int reals, pg_slot *result) {
  if (is_real(function->child))
    result->d = ((to_real *)entry)(i[0], i[1], i[2], i[3], i[4], i[5], d[0], d[1], d[2], d[3], d[4],
                                   d[5], d[6], d[7]);
  else if (reals)
    result->i = ((to_integer *)entry)(i[0], i[1], i[2], i[3], i[4], i[5], d[0], d[1], d[2], d[3],
                                      d[4], d[5], d[6], d[7]);
  else
    result->i = ((integers_only *)entry)(i[0], i[1], i[2], i[3], i[4], i[5]);
}

int ffi_call_directly(lua_State *L, pg_ffi *f, const ctype *function, void *entry) {
  int64_t i[INTEGERS] = {0};
  double d[REALS] = {0};
  int integers = 0, reals = 0;
  pg_slot result;
  for (int k = 0; k < (int)function->count; k++) {
    ctype *type = function->fields[k].type;
    if (is_real(type))
      d[reals++] = real(L, f, type, k + 2);
    else
      i[integers++] = integer(L, f, type, k + 2);
  }
  lua_State *before = f->calling;
  f->calling = L;
  f->thread = pthread_self();
  int *errno_at = &errno;
  *errno_at = f->saved_errno;
  enter(function, entry, i, d, reals, &result);
  f->saved_errno = *errno_at;
  f->calling = before;
  if (__builtin_expect(f->pending_ref != LUA_NOREF || f->foreign, 0)) ffi_raise_pending(L, f);
  const ctype *type = function->child;
  if (type->kind == CT_VOID) return 0;
  if (type->kind == CT_INT && type->size == 4 && !type->is_unsigned)
    lua_pushinteger(L, (int32_t)result.i);
  else
    ffi_push(L, f, function->child, &result, 0);
  return 1;
}
#else
bool ffi_is_direct(const ctype *function) {
  (void)function;
  return false;
}

int ffi_call_directly(lua_State *L, pg_ffi *f, const ctype *function, void *entry) {
  (void)L, (void)f, (void)function, (void)entry;
  return 0;
}
#endif
