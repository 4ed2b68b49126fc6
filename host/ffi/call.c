/* Calls of C functions: arguments converted into slots, the call, its result.
 * The usual argument types have a short way; everything else goes through ffi_store. */
#include "cdata.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { SLOTS = 16 };

/* One call: its arguments, on the C stack where they fit. */
typedef struct frame {
  pg_slot few[SLOTS];
  void *few_values[SLOTS];
  ffi_type *few_types[SLOTS];
  pg_slot *slots;
  void **values;
  ffi_type **types;
  unsigned count; /* of values so far */
} frame;

/* What is called, for messages: as it was declared, as the script calls it, as the library does. */
const char *ffi_called_name(lua_State *L, pg_ffi *f) {
  const cdata *called = cdata_test(L, f, 1); /* a function, a pointer to one, or a ctype */
  lua_Debug level;
  Dl_info symbol;
  char name[CT_NAME_MAX];
  if (!called) return lua_pushstring(L, ct_name(ctype_test(L, f, 1), false, name));
  if (called->reference && lua_getiuservalue(L, 1, 1) == LUA_TSTRING) return lua_tostring(L, -1);
  if (lua_getstack(L, 0, &level) && lua_getinfo(L, "n", &level) && level.name) return level.name;
  void *entry = cdata_address(called);
  return dladdr(entry, &symbol) && symbol.dli_saddr == entry ? symbol.dli_sname : "?";
}

static _Noreturn void wrong_count(lua_State *L, pg_ffi *f, const ctype *function, int got) {
  ffi_fail(L, PG_INVALID,
           "wrong number of arguments for function call to '%.100s' (expected %s%u, got %d)",
           ffi_called_name(L, f), function->variadic ? "at least " : "", function->count, got);
}

void ffi_argument(lua_State *L, pg_ffi *f, ctype *type, void *at, int index) {
  pg_target target = {.argument = index - 1, .shares = true};
  ffi_store(L, f, type, at, index, &target);
}

/* A struct is copied, padded to whole words, which is what is read. */
static void *struct_argument(lua_State *L, pg_ffi *f, ctype *type, int index) {
  void *copy = lua_newuserdatauv(L, type->base->size + 16, 0);
  memset(copy, 0, type->base->size + 16);
  ffi_argument(L, f, type, copy, index);
  return copy;
}

/* What a value becomes where the declaration says `...`. */
static ctype *promoted(lua_State *L, pg_ffi *f, int index) {
  const cdata *cd = cdata_test(L, f, index);
  ctype *type;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER: return ct_get(f->types, lua_isinteger(L, index) ? CTID_INT64 : CTID_DOUBLE);
  case LUA_TBOOLEAN: return ct_get(f->types, CTID_INT);
  case LUA_TSTRING:
    type = ct_qualified(f->types, ct_get(f->types, CTID_CHAR), CT_CONST);
    return ffi_need(L, ct_pointer(f->types, ffi_need(L, type)));
  default: break;
  }
  if (!cd) return ffi_need(L, ct_pointer(f->types, ct_get(f->types, CTID_VOID)));
  type = cd->type;
  if (type->kind == CT_FLOAT && type->size == 4) return ct_get(f->types, CTID_DOUBLE);
  if ((type->kind == CT_INT || type->kind == CT_BOOL) && type->size < 4)
    return ct_get(f->types, CTID_INT);
  if (type->kind == CT_ARRAY) return ffi_need(L, ct_pointer(f->types, type->child));
  if (type->kind == CT_FUNC || type->kind == CT_STRUCT)
    return ffi_need(L, ct_pointer(f->types, type));
  return type;
}

static void make_room(lua_State *L, frame *fr, size_t count) {
  fr->slots = fr->few;
  fr->values = fr->few_values;
  fr->types = fr->few_types;
  fr->count = 0;
  if (count <= SLOTS) return;
  fr->slots = lua_newuserdatauv(L, count * sizeof *fr->slots, 0);
  fr->values = lua_newuserdatauv(L, count * sizeof *fr->values, 0);
  fr->types = lua_newuserdatauv(L, count * sizeof *fr->types, 0);
}

static void add_struct(lua_State *L, pg_ffi *f, frame *fr, ctype *type, int words, int index) {
  char *copy = struct_argument(L, f, type, index);
  fr->values[fr->count++] = copy;
  if (words == 2) fr->values[fr->count++] = copy + 8;
}

static void add_scalar(lua_State *L, pg_ffi *f, frame *fr, ctype *type, int index) {
  pg_slot *slot = &fr->slots[fr->count];
  fr->values[fr->count++] = slot;
  slot->u = 0;
  ffi_argument(L, f, type, slot, index);
}

/* Arguments lie from stack index 2 on. */
static void convert_arguments(lua_State *L, pg_ffi *f, const ctype *function, frame *fr,
                              int count) {
  if (count > 8) ffi_room(L, count + 8);
  for (int i = 0; i < count; i++) {
    bool named = (uint32_t)i < function->count;
    ctype *type = named ? function->fields[i].type : promoted(L, f, i + 2);
    if (!named) fr->types[fr->count] = ffi_type_of(L, f, type);
    if (type->kind == CT_STRUCT)
      add_struct(L, f, fr, type, function->plan->words[i], i + 2);
    else
      add_scalar(L, f, fr, type, i + 2);
  }
}

/* A callback's error waits until the C function has returned. */
void ffi_raise_pending(lua_State *L, pg_ffi *f) {
  if (atomic_exchange(&f->foreign, 0))
    ffi_fail(L, PG_UNSUPPORTED, "a callback was called from another thread");
  if (f->pending_ref == LUA_NOREF) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->pending_ref);
  luaL_unref(L, LUA_REGISTRYINDEX, f->pending_ref);
  f->pending_ref = LUA_NOREF;
  lua_error(L);
}

static void do_call(lua_State *L, pg_ffi *f, ffi_cif *cif, void *entry, void *result, frame *fr) {
  lua_State *before = f->calling;
  f->calling = L;
  f->thread = pthread_self();
  errno = f->saved_errno;
  ffi_call(cif, FFI_FN(entry), result, fr->values);
  f->saved_errno = errno;
  f->calling = before;
  if (f->pending_ref != LUA_NOREF || f->foreign) ffi_raise_pending(L, f);
}

static ffi_cif *variadic_cif(lua_State *L, const pg_plan *plan, frame *fr, ffi_cif *cif) {
  memcpy(fr->types, plan->types, plan->count * sizeof *fr->types);
  if (ffi_prep_cif_var(cif, FFI_DEFAULT_ABI, plan->count, fr->count, plan->cif.rtype, fr->types))
    ffi_fail(L, PG_UNSUPPORTED, "a variadic call with these types");
  return cif;
}

static int call_by_libffi(lua_State *L, pg_ffi *f, ctype *function, void *entry, int count) {
  frame fr;
  pg_slot result;
  ffi_cif variadic, *cif;
  pg_plan *plan = function->plan;
  make_room(L, &fr, plan->count + (unsigned)count - function->count);
  convert_arguments(L, f, function, &fr, count);
  cif = function->variadic ? variadic_cif(L, plan, &fr, &variadic) : &plan->cif;
  ctype *type = function->child;
  if (type->kind == CT_STRUCT) {
    cdata *cd = cdata_new(L, f, type->base, type->base->size);
    do_call(L, f, cif, entry, cd->at, &fr);
    return 1;
  }
  do_call(L, f, cif, entry, &result, &fr);
  if (type->kind == CT_VOID) return 0;
  ffi_push(L, f, type, &result, 0); /* integers came widened: the low bytes are the value */
  return 1;
}

int ffi_call_cdata(lua_State *L, pg_ffi *f, ctype *function, void *entry) {
  int count = lua_gettop(L) - 1;
  if (!entry) ffi_fail(L, PG_INVALID, "attempt to call a NULL function pointer");
  if ((uint32_t)count != function->count &&
      (!function->variadic || (uint32_t)count < function->count))
    wrong_count(L, f, function, count);
  if (!function->plan) ffi_plan(L, f, function);
  if (function->plan->direct) return ffi_call_directly(L, f, function, entry);
  return call_by_libffi(L, f, function, entry, count);
}
