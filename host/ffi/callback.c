/* Lua functions as C function pointers.
 * A callback lives until free(); an error in it waits until the C function that called returns.
 * Freed code stays where it is, so that a call of it is an error and no crash: there is code for
 * CALLBACKS_MAX at most, and only then the one freed longest ago serves again. */
#include "cdata.h"

#include <string.h>

enum { CALLBACKS_MAX = 1000 };

struct pg_callback {
  pg_ffi *f;
  ctype *function;
  ffi_closure *closure;
  void *code;
  int ref;     /* the Lua function; LUA_NOREF: freed */
  bool shared; /* made for an argument: whoever gives the same function again gets it, too */
  pg_callback *next;
};

typedef struct invocation {
  pg_callback *callback;
  void *result, **args;
} invocation;

/* What C expects in the place of a result: small integers widened to a register. */
static void write_result(lua_State *L, pg_ffi *f, ctype *type, void *result) {
  const pg_target target = {.result = true};
  if (type->kind == CT_STRUCT || type->kind == CT_FLOAT || type->kind == CT_PTR) {
    ffi_store(L, f, type, result, -1, &target);
    return;
  }
  uint64_t raw = 0;
  ffi_store(L, f, type, &raw, -1, &target);
  int64_t value = ffi_number(type, &raw).i;
  memcpy(result, &value, sizeof value);
}

/* A copy: C's is gone when the callback returns. How many of `args` it came in. */
static int push_struct(lua_State *L, pg_ffi *f, ctype *type, void **args, int words) {
  char *to = cdata_new(L, f, type, type->size)->at;
  size_t first = words && type->size > 8 ? 8 : type->size;
  memcpy(to, args[0], first);
  if (words == 2) memcpy(to + 8, args[1], type->size - 8);
  return words == 2 ? 2 : 1;
}

/* Protected: may raise. */
static int invoke(lua_State *L) {
  invocation *call = lua_touserdata(L, 1);
  pg_callback *cb = call->callback;
  ctype *function = cb->function;
  if (cb->ref == LUA_NOREF) ffi_fail(L, PG_INVALID, "bad callback: it was freed");
  ffi_room(L, (int)function->count + 8);
  lua_rawgeti(L, LUA_REGISTRYINDEX, cb->ref);
  void **args = call->args;
  for (uint32_t i = 0; i < function->count; i++) {
    ctype *type = function->fields[i].type;
    if (type->kind == CT_STRUCT)
      args += push_struct(L, cb->f, type->base, args, function->plan->words[i]);
    else
      ffi_push(L, cb->f, type, *args++, 0);
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

/* ---- made ---- */

/* What an argument has been given before: this function, for this type. */
static pg_callback *find_shared(lua_State *L, const pg_ffi *f, const ctype *function, int index) {
  for (pg_callback *cb = f->callbacks; cb; cb = cb->next) {
    if (!cb->shared || cb->function != function) continue;
    lua_rawgeti(L, LUA_REGISTRYINDEX, cb->ref);
    bool same = lua_rawequal(L, -1, index);
    lua_pop(L, 1);
    if (same) return cb;
  }
  return NULL;
}

static pg_callback *new_code(lua_State *L, pg_ffi *f) {
  pg_callback *cb = ct_alloc(f->types, sizeof *cb);
  if (!cb) ffi_fail(L, PG_MEMORY, "no memory for a callback");
  *cb = (pg_callback){.f = f, .ref = LUA_NOREF};
  cb->closure = ffi_closure_alloc(sizeof *cb->closure, &cb->code);
  if (!cb->closure) ffi_fail(L, PG_ENVIRONMENT, "this system allows no callbacks");
  f->callback_count++;
  return cb;
}

/* The one freed longest ago, which leaves the list. */
static pg_callback *old_code(lua_State *L, pg_ffi *f) {
  pg_callback *cb = f->freed;
  if (!cb)
    ffi_fail(L, PG_RANGE, "too many callbacks (%d); free those no longer needed", CALLBACKS_MAX);
  f->freed = cb->next;
  if (!f->freed) f->freed_last = NULL;
  return cb;
}

static void keep_freed(pg_ffi *f, pg_callback *cb) {
  cb->ref = LUA_NOREF;
  cb->next = NULL;
  if (f->freed_last)
    f->freed_last->next = cb;
  else
    f->freed = cb;
  f->freed_last = cb;
}

void *ffi_callback_new(lua_State *L, pg_ffi *f, ctype *function, int index, bool shared) {
  pg_callback *cb = shared ? find_shared(L, f, function, index) : NULL;
  if (cb) return cb->code;
  if (function->variadic) ffi_fail(L, PG_UNSUPPORTED, "a variadic function as a callback");
  pg_plan *plan = ffi_plan(L, f, function);
  cb = f->callback_count < CALLBACKS_MAX ? new_code(L, f) : old_code(L, f);
  cb->function = function;
  cb->shared = shared;
  if (ffi_prep_closure_loc(cb->closure, &plan->cif, entered, cb, cb->code)) {
    keep_freed(f, cb);
    ffi_fail(L, PG_ENVIRONMENT, "this system allows no callbacks");
  }
  cb->next = f->callbacks;
  f->callbacks = cb;
  lua_pushvalue(L, index);
  cb->ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return cb->code;
}

static void free_code(pg_callback *cb) {
  for (; cb; cb = cb->next) ffi_closure_free(cb->closure);
}

void ffi_callbacks_free(pg_ffi *f) {
  free_code(f->callbacks);
  free_code(f->freed);
  f->callbacks = f->freed = NULL;
}

/* ---- cb:free(), cb:set(f) ---- */

/* Where the list holds the callback that argument 1 points to. */
static pg_callback **check_callback(lua_State *L, pg_ffi *f) {
  const cdata *cd = cdata_test(L, f, 1);
  pg_callback **at = &f->callbacks;
  if (!cd || cd->type->kind != CT_PTR) ffi_fail(L, PG_INVALID, "bad callback");
  while (*at && (*at)->code != *(void **)cd->at) at = &(*at)->next;
  if (!*at) ffi_fail(L, PG_INVALID, "bad callback");
  return at;
}

static int callback_free(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  pg_callback **at = check_callback(L, f), *cb = *at;
  *at = cb->next;
  luaL_unref(L, LUA_REGISTRYINDEX, cb->ref);
  keep_freed(f, cb);
  return 0;
}

static int callback_set(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const pg_callback *cb = *check_callback(L, f);
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
