/* C data as Lua values, and what the files of the ffi's run time share.
 * A cdata is a userdata: it holds its value itself, or refers to memory elsewhere and then keeps
 * alive what owns that memory, where this is known. One pg_ffi a Lua state, upvalue 1 of
 * everything. */
#ifndef PG_FFI_CDATA_H
#define PG_FFI_CDATA_H

#include "../bind/bind.h"
#include "parse.h"
#include "types.h"

#include <ffi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef struct pg_callback pg_callback;

typedef struct pg_ffi {
  ct_table *types;
  const void *meta_ctype; /* the metatable of ctype objects, to recognise them by */
  int meta_ref, meta_final_ref, meta_ctype_ref;
  int finalizers_ref;        /* cdata -> what ffi.gc gave it; weak keys */
  int parsed_ref;            /* text -> type, until the next cdef */
  int saved_errno;           /* of the last call */
  lua_State *main, *calling; /* where a callback runs; calling is NULL outside calls */
  pthread_t thread;          /* of the last call: a state may move from one thread to another */
  int pending_ref;           /* the error that a callback raised, LUA_NOREF */
  atomic_int foreign;        /* a callback came from another thread */
  pg_callback *callbacks, *freed, *freed_last;
  int callback_count; /* of both */
} pg_ffi;

typedef struct cdata {
  const pg_ffi *tag; /* this is a cdata, of this state */
  ctype *type;
  void *at;       /* the value: behind this header, or elsewhere */
  size_t size;    /* bytes there; CT_NOSIZE when not known */
  bool reference; /* elsewhere; user value 1 is the owner */
} cdata;

/* What ffi calls need of a type. Owned by the table of types. */
typedef struct pg_plan {
  ffi_type *type; /* of a struct passed by value */
  ffi_cif cif;    /* of a function, from here on; variadic: of the arguments before the dots */
  ffi_type **types;
  unsigned count; /* of types: a struct in registers is its words, each an argument */
  uint8_t *words; /* of each argument: so many there are of a struct; 0: it goes as it is */
  bool direct;    /* called without libffi: direct.c */
} pg_plan;

/* An argument or a result that is no struct. */
typedef union pg_slot {
  int64_t i;
  uint64_t u;
  double d;
  float f;
  void *p;
  long double l;
} pg_slot;

/* ---- errors ---- */

_Noreturn void ffi_fail(lua_State *L, pg_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The type of the value at `index` as messages name it: "string", "int *". */
const char *ffi_type_text(lua_State *L, pg_ffi *f, int index, char text[CT_NAME_MAX]);
_Noreturn void ffi_closed(lua_State *L); /* raises */
void ffi_room(lua_State *L, int slots);  /* of Lua's stack; raises where there are none */

/* Every function of the ffi starts here. A finalizer may call one after the ffi's own has run. */
static inline pg_ffi *ffi_of(lua_State *L) {
  pg_ffi *f = lua_touserdata(L, lua_upvalueindex(1));
  if (__builtin_expect(!f->types, 0)) ffi_closed(L);
  return f;
}

/* The string at `index` as C reads it; NULL when it is none or has a zero byte within. */
static inline const char *ffi_text(lua_State *L, int index) {
  size_t length;
  const char *text = lua_type(L, index) == LUA_TSTRING ? lua_tolstring(L, index, &length) : NULL;
  return text && strlen(text) == length ? text : NULL;
}

/* ---- cdata.c ---- */

/* NULL when it is none. A light userdata has no length. */
static inline cdata *cdata_test(lua_State *L, const pg_ffi *f, int index) {
  cdata *cd = lua_touserdata(L, index);
  return cd && lua_rawlen(L, index) >= sizeof *cd && cd->tag == f ? cd : NULL;
}

ctype *ctype_test(lua_State *L, pg_ffi *f, int index); /* of a ctype object, else NULL */
/* Push a zeroed cdata of `size` bytes. */
cdata *cdata_new(lua_State *L, pg_ffi *f, ctype *type, size_t size);
/* Push one that refers to `at`; what is at stack index `owner` (0: nothing) lives as long. */
cdata *cdata_refer(lua_State *L, pg_ffi *f, ctype *type, void *at, size_t size, int owner);
void cdata_push_pointer(lua_State *L, pg_ffi *f, ctype *type, void *value);
void ctype_push(lua_State *L, pg_ffi *f, ctype *type);
/* The type that argument `index` names: text (with `$` for the arguments from `first_arg` on, 0:
 * none), a ctype or a cdata. */
ctype *ctype_check(lua_State *L, pg_ffi *f, int index, int first_arg);
/* Arguments for `$`, from stack index `first` to the top; how many there are. */
enum { ARGUMENTS_MAX = 32 };
int ctype_arguments(lua_State *L, pg_ffi *f, int first, ct_argument args[ARGUMENTS_MAX]);
/* Push metamethod `event` of the metatype of `type`, or of what it points to; false: none. */
bool ctype_metamethod(lua_State *L, const ctype *type, const char *event);
ctype *ffi_need(lua_State *L, ctype *type); /* raises out_of_memory for NULL */

/* What a pointer, array, function or struct cdata points to. */
static inline void *cdata_address(const cdata *cd) {
  return cd->type->kind == CT_PTR ? *(void **)cd->at : cd->at;
}

/* Any number of bytes from any address, NULL included: a script may compute what it likes. */
static inline void *ffi_offset(const void *at, size_t bytes) {
  return (void *)((uintptr_t)at + bytes);
}

static inline bool ct_is_number(const ctype *type) {
  return type->kind == CT_INT || type->kind == CT_FLOAT || type->kind == CT_BOOL ||
         type->kind == CT_ENUM;
}

/* An array of characters, which may be given as a string. */
static inline bool ct_is_text(const ctype *type) {
  return type->kind == CT_ARRAY && type->child->kind == CT_INT && type->child->size == 1;
}

/* ---- convert.c ---- */

/* Where a conversion happens, for its message: argument of a function, or nothing. */
typedef struct pg_target {
  int argument;       /* 0: none */
  const char *name;   /* of the function; NULL: what stands at stack index 1 is being called */
  const char *member; /* of a struct, within that argument or alone; NULL: none */
  bool cast;
  bool shares; /* a function that is given again is the same callback */
  bool result; /* of a callback */
} pg_target;

typedef struct pg_number {
  bool is_float, is_unsigned; /* is_unsigned: a 64-bit one */
  int64_t i;
  double d;
} pg_number;

void ffi_push(lua_State *L, pg_ffi *f, ctype *type, void *at, int owner);
void ffi_push_field(lua_State *L, pg_ffi *f, const ct_field *field, ctype *type, char *at,
                    int owner);
/* Write the Lua value at `index` as a `type` to `at`; raises when it cannot be one. */
void ffi_store(lua_State *L, pg_ffi *f, ctype *type, void *at, int index, const pg_target *target);
void ffi_store_field(lua_State *L, pg_ffi *f, const ct_field *field, char *at, int index,
                     const pg_target *target);
_Noreturn void ffi_cannot(lua_State *L, pg_ffi *f, const ctype *type, int index,
                          const pg_target *target);
pg_number ffi_number(const ctype *type, const void *at);
void ffi_write_number(const ctype *type, void *at, pg_number number);
bool ffi_lua_number(lua_State *L, pg_ffi *f, int index, pg_number *out);
int64_t ffi_to_int(double number);
/* Is what two pointers point to of one type, but for its qualifiers and its sign? */
bool ct_same_pointee(const ctype *to, const ctype *from);
/* May a pointer to `from` stand where one to `to` is wanted? */
bool ct_compatible(const ctype *to, const ctype *from);

/* ---- initialize.c ---- */

/* Fill a zeroed cdata, which lies on top, from the values from stack index `first` on; `target`
 * is that of the first. */
void ffi_initialize(lua_State *L, pg_ffi *f, cdata *cd, int first, const pg_target *target);
void ffi_store_table(lua_State *L, pg_ffi *f, ctype *type, void *at, int index,
                     const pg_target *target);
void ffi_store_text(lua_State *L, void *at, size_t size, int index);

/* ---- the rest ---- */

ffi_type *ffi_type_of(lua_State *L, pg_ffi *f, ctype *type);               /* abi.c */
pg_plan *ffi_plan(lua_State *L, pg_ffi *f, ctype *function);               /* abi.c */
const char *ffi_called_name(lua_State *L, pg_ffi *f);                      /* call.c */
int ffi_call_cdata(lua_State *L, pg_ffi *f, ctype *function, void *entry); /* call.c */
bool ffi_is_direct(const ctype *function);                                 /* direct.c */
int ffi_call_directly(lua_State *L, pg_ffi *f, const ctype *function, void *entry);
void ffi_argument(lua_State *L, pg_ffi *f, ctype *type, void *at, int index); /* call.c */
void ffi_raise_pending(lua_State *L, pg_ffi *f);
/* callback.c; shared: the one that the same function has already, for the same type */
void *ffi_callback_new(lua_State *L, pg_ffi *f, ctype *function, int index, bool shared);
bool ffi_callback_method(lua_State *L, const char *name);
void ffi_callbacks_free(pg_ffi *f);
/* Onto the metatable on top. */
void ffi_open_operators(lua_State *L, pg_ffi *f, bool final); /* operators.c; final: with __gc */
void ffi_open_access(lua_State *L, pg_ffi *f);                /* access.c */
void ffi_open_ctype_access(lua_State *L, pg_ffi *f);
void ffi_push_library(lua_State *L, pg_ffi *f, void *handle, const char *name); /* library.c */
int ffi_load(lua_State *L);

#endif
