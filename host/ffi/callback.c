/* Lua functions as C function pointers.
 * A callback lives until free(); an error in it waits until the C function that called returns. */
#include "cdata.h"

#include <string.h>

enum { CALLBACKS_MAX = 1000 };

struct pg_callback {
  pg_ffi *f;
  ctype *function;
  ffi_closure *closure;
  void *code;
  int ref; /* the Lua function */
  pg_callback *next;
};

typedef struct invocation {
  pg_callback *callback;
  void *result, **args;
} invocation;

/* What C expects in the place of a result: small integers widened to a register. */
static void write_result(lua_State *L, pg_ffi *f, ctype *type, void *result) {
  if (type->kind == CT_STRUCT || type->kind == CT_FLOAT || type->kind == CT_PTR) {
    ffi_store(L, f, type, result, -1, NULL);
    return;
  }
  uint64_t raw = 0;
  ffi_store(L, f, type, &raw, -1, NULL);
  int64_t value = ffi_number(type, &raw).i;
  memcpy(result, &value, sizeof value);
}

/* Protected: may raise. */
static int invoke(lua_State *L) {
  invocation *call = lua_touserdata(L, 1);
  pg_callback *cb = call->callback;
  ctype *function = cb->function;
  luaL_checkstack(L, (int)function->count + 8, "arguments of a callback");
  lua_rawgeti(L, LUA_REGISTRYINDEX, cb->ref);
  for (uint32_t i = 0; i < function->count; i++) {
    ctype *type = function->fields[i].type;
    if (type->kind == CT_STRUCT) /* a copy: C's is gone when the callback returns */
      memcpy(cdata_new(L, cb->f, type->base, type->base->size)->at, call->args[i],
             type->base->size);
    else
      ffi_push(L, cb->f, type, call->args[i], 0);
  }
  lua_call(L, (int)function->count, 1);
  if (function->child->kind != CT_VOID) write_result(L, cb->f, function->child, call->result);
  return 0;
}

static void keep_error(lua_State *L, pg_ffi *f) {
  if (f->pending_ref == LUA_NOREF)
    f->pending_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  else
    lua_pop(L, 1); /* the first one tells more */
}

/* From C. Nothing may leave it but by return. */
static void entered(ffi_cif *cif, void *result, void **args, void *data) {
  pg_callback *cb = data;
  pg_ffi *f = cb->f;
  size_t size = cif->rtype->size < sizeof(ffi_arg) ? sizeof(ffi_arg) : cif->rtype->size;
  if (cif->rtype->type != FFI_TYPE_VOID) memset(result, 0, size);
  if (!pthread_equal(pthread_self(), f->thread)) {
    atomic_store(&f->foreign, 1);
    return;
  }
  lua_State *L = f->calling ? f->calling : f->main;
  if (f->pending_ref != LUA_NOREF || !lua_checkstack(L, 8)) return;
  invocation call = {.callback = cb, .result = result, .args = args};
  int saved_errno = f->saved_errno;
  lua_pushcfunction(L, invoke);
  lua_pushlightuserdata(L, &call);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    if (cif->rtype->type != FFI_TYPE_VOID) memset(result, 0, size);
    keep_error(L, f);
  }
  f->saved_errno = saved_errno;
}

static pg_callback *find(const pg_ffi *f, const void *code) {
  pg_callback *cb = f->callbacks;
  while (cb && cb->code != code) cb = cb->next;
  return cb;
}

/* The callback that this function already has for this type. */
static pg_callback *known(lua_State *L, const pg_ffi *f, const ctype *function, int index) {
  for (pg_callback *cb = f->callbacks; cb; cb = cb->next) {
    if (cb->function != function) continue;
    lua_rawgeti(L, LUA_REGISTRYINDEX, cb->ref);
    bool same = lua_rawequal(L, -1, index);
    lua_pop(L, 1);
    if (same) return cb;
  }
  return NULL;
}

void *ffi_callback_new(lua_State *L, pg_ffi *f, ctype *function, int index) {
  pg_callback *cb = known(L, f, function, index);
  if (cb) return cb->code;
  if (function->variadic) ffi_fail(L, PG_UNSUPPORTED, "a variadic function as a callback");
  if (f->callback_count >= CALLBACKS_MAX)
    ffi_fail(L, PG_RANGE, "too many callbacks (%d); free those no longer needed", CALLBACKS_MAX);
  pg_plan *plan = ffi_plan(L, f, function);
  cb = ct_alloc(f->types, sizeof *cb);
  if (!cb) ffi_fail(L, PG_MEMORY, "no memory for a callback");
  lua_pushvalue(L, index);
  *cb = (pg_callback){.f = f, .function = function, .ref = luaL_ref(L, LUA_REGISTRYINDEX)};
  cb->closure = ffi_closure_alloc(sizeof *cb->closure, &cb->code);
  if (!cb->closure || ffi_prep_closure_loc(cb->closure, &plan->cif, entered, cb, cb->code)) {
    if (cb->closure) ffi_closure_free(cb->closure);
    luaL_unref(L, LUA_REGISTRYINDEX, cb->ref);
    ffi_fail(L, PG_ENVIRONMENT, "this system allows no callbacks");
  }
  cb->next = f->callbacks;
  f->callbacks = cb;
  f->callback_count++;
  return cb->code;
}

void ffi_callbacks_free(pg_ffi *f) {
  for (pg_callback *cb = f->callbacks; cb; cb = cb->next) ffi_closure_free(cb->closure);
  f->callbacks = NULL;
}

/* ---- cb:free(), cb:set(f) ---- */

static pg_callback *check_callback(lua_State *L, pg_ffi *f, cdata **out) {
  cdata *cd = cdata_test(L, f, 1);
  pg_callback *cb = cd && cd->type->kind == CT_PTR ? find(f, *(void **)cd->at) : NULL;
  if (!cb) ffi_fail(L, PG_INVALID, "bad callback");
  *out = cd;
  return cb;
}

static int callback_free(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  cdata *cd;
  pg_callback *cb = check_callback(L, f, &cd), **at = &f->callbacks;
  while (*at != cb) at = &(*at)->next;
  *at = cb->next;
  f->callback_count--;
  luaL_unref(L, LUA_REGISTRYINDEX, cb->ref);
  ffi_closure_free(cb->closure);
  *(void **)cd->at = NULL; /* a call through it is then an error, and no crash */
  return 0;
}

static int callback_set(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  cdata *cd;
  pg_callback *cb = check_callback(L, f, &cd);
  if (!lua_isfunction(L, 2)) pg_lua_argument(L, 2, "function");
  lua_pushvalue(L, 2);
  lua_rawseti(L, LUA_REGISTRYINDEX, cb->ref);
  return 0;
}

bool ffi_callback_method(lua_State *L, const char *name) {
  lua_CFunction method = strcmp(name, "free") == 0  ? callback_free
                         : strcmp(name, "set") == 0 ? callback_set
                                                    : NULL;
  if (!method) return false;
  lua_pushlightuserdata(L, ffi_of(L));
  lua_pushcclosure(L, method, 1);
  return true;
}
