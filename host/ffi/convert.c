/* Between Lua values and C values, by LuaJIT's rules.
 * Numbers become any number (floats are cut to integers); pointers must be of compatible types. */
#include "cdata.h"

#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

int64_t ffi_to_int(double number) {
  if (number >= -9223372036854775808.0 && number < 9223372036854775808.0) return (int64_t)number;
  if (number >= 0 && number < 18446744073709551616.0) return (int64_t)(uint64_t)number;
  return INT64_MIN; /* what the processor gives, too */
}

static int64_t read_int(const ctype *type, const void *at) {
  uint64_t raw = 0;
  if (type->size == 4) { /* the usual one, without a call */
    uint32_t half;
    memcpy(&half, at, 4);
    return type->is_unsigned ? (int64_t)half : (int64_t)(int32_t)half;
  }
  memcpy(&raw, at, type->size); /* little endian */
  unsigned drop = 64 - 8 * (unsigned)type->size;
  return type->is_unsigned ? (int64_t)raw : (int64_t)(raw << drop) >> drop;
}

static double read_float(const ctype *type, const void *at) {
  if (type->size == 4) {
    float value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  if (type->size == 8) {
    double value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  long double value;
  memcpy(&value, at, sizeof value);
  return (double)value;
}

pg_number ffi_number(const ctype *type, const void *at) {
  if (type->kind == CT_FLOAT) return (pg_number){.is_float = true, .d = read_float(type, at)};
  return (pg_number){.i = read_int(type, at), .is_unsigned = type->is_unsigned && type->size == 8};
}

static void write_float(const ctype *type, void *at, double d) {
  if (type->size == 4) {
    float value = (float)d;
    memcpy(at, &value, sizeof value);
  } else if (type->size == 8) {
    memcpy(at, &d, sizeof d);
  } else {
    long double value = d;
    memcpy(at, &value, sizeof value);
  }
}

static double as_double(pg_number n) {
  return n.is_float ? n.d : n.is_unsigned ? (double)(uint64_t)n.i : (double)n.i;
}

void ffi_write_number(const ctype *type, void *at, pg_number n) {
  if (type->kind == CT_FLOAT) {
    write_float(type, at, as_double(n));
  } else if (type->kind == CT_BOOL) {
    *(uint8_t *)at = n.is_float ? n.d != 0 : n.i != 0;
  } else {
    int64_t value = n.is_float ? ffi_to_int(n.d) : n.i;
    memcpy(at, &value, type->size);
  }
}

bool ffi_lua_number(lua_State *L, pg_ffi *f, int index, pg_number *out) {
  if (lua_isinteger(L, index)) {
    *out = (pg_number){.i = lua_tointeger(L, index)};
    return true;
  }
  if (lua_type(L, index) == LUA_TNUMBER) {
    *out = (pg_number){.is_float = true, .d = lua_tonumber(L, index)};
    return true;
  }
  const cdata *cd = cdata_test(L, f, index);
  if (!cd || !ct_is_number(cd->type)) return false;
  *out = ffi_number(cd->type, cd->at);
  return true;
}

/* ---- C to Lua ---- */

/* Bytes known at a reference to a type; of a flexible array: not known. */
static size_t known_size(const ctype *type) {
  return type->kind == CT_FUNC ? CT_NOSIZE : type->base->size;
}

void ffi_push(lua_State *L, pg_ffi *f, ctype *type, void *at, int owner) {
  switch (type->kind) {
  case CT_BOOL: lua_pushboolean(L, *(uint8_t *)at != 0); break;
  case CT_INT: lua_pushinteger(L, read_int(type, at)); break;
  case CT_FLOAT: lua_pushnumber(L, read_float(type, at)); break;
  case CT_ENUM:
  case CT_PTR: {
    cdata *cd = cdata_new(L, f, type->base, type->base->size);
    memcpy(cd->at, at, type->base->size);
    break;
  }
  case CT_VOID: lua_pushnil(L); break;
  default: cdata_refer(L, f, type, at, known_size(type), owner);
  }
}

static uint64_t read_bits(const ct_field *field, const char *at) {
  uint64_t value = 0;
  for (unsigned i = 0; i < field->bits; i++) {
    unsigned bit = field->bit + i;
    value |= (uint64_t)(((unsigned char)at[bit / 8] >> bit % 8) & 1) << i;
  }
  return value;
}

static void write_bits(const ct_field *field, char *at, uint64_t value) {
  for (unsigned i = 0; i < field->bits; i++) {
    unsigned bit = field->bit + i, mask = 1u << bit % 8;
    unsigned char byte = (unsigned char)at[bit / 8];
    at[bit / 8] = (char)((value >> i & 1) ? byte | mask : byte & ~mask);
  }
}

void ffi_push_field(lua_State *L, pg_ffi *f, const ct_field *field, ctype *type, char *at,
                    int owner) {
  if (!field->bits) {
    ffi_push(L, f, type, at, owner);
    return;
  }
  uint64_t raw = read_bits(field, at);
  unsigned drop = 64u - field->bits;
  if (!field->type->is_unsigned) raw = (uint64_t)((int64_t)(raw << drop) >> drop);
  ffi_push(L, f, type, &raw, 0); /* little endian: the low bytes come first */
}

/* ---- Lua to C ---- */

/* A member of a packed struct lies anywhere. */
static void put_pointer(void *at, const void *value) {
  memcpy(at, &value, sizeof value);
}

_Noreturn void ffi_cannot(lua_State *L, pg_ffi *f, const ctype *type, int index,
                          const pg_target *target) {
  char from[CT_NAME_MAX], to[CT_NAME_MAX];
  bool is_bool = lua_type(L, index) == LUA_TBOOLEAN; /* LuaJIT's name for it, but only here */
  const char *got = is_bool ? "bool" : ffi_type_text(L, f, index, from);
  ct_name(type, false, to);
  char place[CT_NAME_MAX] = "";
  if (target && target->member)
    snprintf(place, sizeof place, " for member '%.100s'", target->member);
  if (target && target->argument)
    ffi_fail(L, PG_INVALID, "bad argument #%d to '%.100s' (cannot convert '%s' to '%s'%s)",
             target->argument, target->name ? target->name : ffi_called_name(L, f), got, to, place);
  if (target && target->result)
    ffi_fail(L, PG_INVALID, "cannot convert '%s' to '%s', which the callback returns", got, to);
  ffi_fail(L, PG_INVALID, "cannot convert '%s' to '%s'%s", got, to, place);
}

/* Enums are the integers that they are kept in, once that is known. */
static const ctype *plain(const ctype *type) {
  return type->kind == CT_ENUM && type->base->child ? type->base->child : type;
}

bool ct_same_pointee(const ctype *to, const ctype *from) {
  to = plain(to);
  from = plain(from);
  if (to->kind != from->kind || to->base->size != from->base->size) return false;
  if (to->kind == CT_FLOAT || to->kind == CT_INT || to->kind == CT_BOOL || to->kind == CT_VOID)
    return true;
  if (to->kind == CT_PTR || to->kind == CT_ARRAY)
    return to->child->quals == from->child->quals && ct_same_pointee(to->child, from->child);
  if (to->kind == CT_STRUCT) return to->base == from->base;
  return true; /* functions, which LuaJIT does not compare either */
}

bool ct_compatible(const ctype *to, const ctype *from) {
  if (to == from) return true;
  const ctype *element = from;
  while (element->kind == CT_ARRAY) element = element->child;
  const ctype *wanted = to;
  while (wanted->kind == CT_ARRAY) wanted = wanted->child;
  if ((wanted->quals & element->quals) != element->quals) return false;
  if (to->kind == CT_VOID || from->kind == CT_VOID) return true;
  return ct_same_pointee(to, from);
}

static bool store_pointer(ctype *type, void *at, const ctype *pointee, void *value,
                          const pg_target *target) {
  if (type->kind != CT_PTR) return false;
  if (!(target && target->cast) && !ct_compatible(type->child, pointee)) return false;
  put_pointer(at, value);
  return true;
}

/* A number is a complex one without an imaginary part. */
static void put_complex(const ctype *type, void *at, pg_number re, pg_number im) {
  const ct_field *parts = type->base->fields;
  ffi_write_number(parts[0].type, at, re);
  ffi_write_number(parts[1].type, (char *)at + parts[1].offset, im);
}

/* Complex to complex, a number to complex, and the real part of one to a number. */
static bool store_complex(const ctype *type, void *at, const cdata *cd) {
  bool from_complex = ct_is_complex(cd->type);
  const ct_field *parts = cd->type->base->fields;
  const ctype *real = from_complex ? parts[0].type : cd->type;
  pg_number re = ffi_number(real, cd->at), im = {.i = 0};
  if (from_complex) im = ffi_number(parts[1].type, (const char *)cd->at + parts[1].offset);
  if (ct_is_complex(type))
    put_complex(type, at, re, im);
  else if (ct_is_number(type))
    ffi_write_number(type, at, re);
  else
    return false;
  return true;
}

static bool store_cdata(ctype *type, void *at, const cdata *cd, const pg_target *target) {
  const ctype *from = cd->type;
  bool cast = target && target->cast;
  if (ct_is_complex(from) || (ct_is_number(from) && ct_is_complex(type)))
    return store_complex(type, at, cd);
  if (ct_is_number(from)) {
    if (ct_is_number(type)) {
      ffi_write_number(type, at, ffi_number(from, cd->at));
      return true;
    }
    bool is_integer = from->kind == CT_INT || from->kind == CT_ENUM;
    if (!cast || type->kind != CT_PTR || !is_integer) return false;
    put_pointer(at, (void *)(intptr_t)ffi_number(from, cd->at).i);
    return true;
  }
  if (type->kind == CT_PTR) {
    const ctype *pointee = from->kind == CT_PTR || from->kind == CT_ARRAY ? from->child : from;
    return store_pointer(type, at, pointee, cdata_address(cd), target);
  }
  bool aggregate = type->kind == CT_STRUCT || type->kind == CT_ARRAY;
  if (!aggregate || !ct_same(type, from) || type->base->size == CT_NOSIZE) return false;
  memmove(at, cd->at, type->base->size);
  return true;
}

static bool store_number(lua_State *L, pg_ffi *f, ctype *type, void *at, int index, bool cast) {
  pg_number number;
  ffi_lua_number(L, f, index, &number);
  if (ct_is_complex(type)) {
    put_complex(type, at, number, (pg_number){.i = 0});
    return true;
  }
  if (ct_is_number(type)) {
    ffi_write_number(type, at, number);
    return true;
  }
  if (!cast || type->kind != CT_PTR) return false;
  put_pointer(at, (void *)(intptr_t)(number.is_float ? ffi_to_int(number.d) : number.i));
  return true;
}

static bool store_constant(lua_State *L, ctype *type, void *at, int index) {
  const char *name = ffi_text(L, index);
  for (uint32_t i = 0; name && i < type->base->count; i++)
    if (strcmp(type->base->fields[i].name, name) == 0) {
      ffi_write_number(type, at, (pg_number){.i = type->base->fields[i].value});
      return true;
    }
  return false;
}

/* Text as a const char *, or any other const of one byte, or void. */
static bool store_string(lua_State *L, ctype *type, void *at, int index, bool cast) {
  if (type->kind == CT_ENUM) return store_constant(L, type, at, index);
  if (ct_is_text(type)) {
    ffi_store_text(L, at, type->size, index);
    return true;
  }
  if (type->kind != CT_PTR) return false;
  const ctype *child = type->child;
  bool fits = child->kind == CT_VOID || (child->kind == CT_INT && child->size == 1);
  if (!cast && (!fits || !(child->quals & CT_CONST))) return false;
  put_pointer(at, lua_tostring(L, index));
  return true;
}

/* The elements of a pg.array, for a pointer to such elements. */
static bool store_array(ctype *type, void *at, const pg_array *array, bool cast) {
  const ctype *child = type->child;
  bool is_float = pg_scalar_class(array->dtype.scalar) == 'f';
  bool fits = child->kind == CT_VOID || child->kind == CT_STRUCT || child->kind == CT_INT ||
              child->kind == CT_BOOL || (child->kind == CT_FLOAT && is_float);
  if (child->kind == CT_INT && is_float && array->dtype.size > 2) fits = false;
  if (child->kind != CT_VOID && child->base->size != array->dtype.size) fits = false;
  if (!fits && !cast) return false;
  put_pointer(at, array->data);
  return true;
}

static bool store_userdata(lua_State *L, pg_ffi *f, ctype *type, void *at, int index,
                           const pg_target *target) {
  const cdata *cd = cdata_test(L, f, index);
  if (cd) return store_cdata(type, at, cd, target);
  if (type->kind != CT_PTR || ctype_test(L, f, index)) return false;
  const pg_array *array = pg_lua_test_array(L, index);
  if (array) return store_array(type, at, array, target && target->cast);
  luaL_Stream *file = luaL_testudata(L, index, LUA_FILEHANDLE);
  if (file) {
    if (!file->closef) ffi_fail(L, PG_INVALID, "attempt to use a closed file");
    put_pointer(at, file->f);
    return true;
  }
  return store_pointer(type, at, ct_get(f->types, CTID_VOID), lua_touserdata(L, index), target);
}

static bool store(lua_State *L, pg_ffi *f, ctype *type, void *at, int index,
                  const pg_target *target) {
  bool cast = target && target->cast;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER: return store_number(L, f, type, at, index, cast);
  case LUA_TBOOLEAN:
    if (!ct_is_number(type)) return false;
    ffi_write_number(type, at, (pg_number){.i = lua_toboolean(L, index)});
    return true;
  case LUA_TSTRING: return store_string(L, type, at, index, cast);
  case LUA_TNIL:
    if (type->kind != CT_PTR) return false;
    put_pointer(at, NULL);
    return true;
  case LUA_TTABLE:
    if (type->kind != CT_ARRAY && type->kind != CT_STRUCT) return false;
    ffi_store_table(L, f, type, at, index, target);
    return true;
  case LUA_TFUNCTION:
    if (type->kind != CT_PTR || type->child->kind != CT_FUNC) return false;
    put_pointer(at, ffi_callback_new(L, f, type->child, index, target && target->shares));
    return true;
  case LUA_TLIGHTUSERDATA:
    return store_pointer(type, at, ct_get(f->types, CTID_VOID), lua_touserdata(L, index), target);
  case LUA_TUSERDATA: return store_userdata(L, f, type, at, index, target);
  default: return false;
  }
}

/* A cast of what may stand for a pointer, but for a struct, to an integer: its address. */
static bool store_address(lua_State *L, pg_ffi *f, ctype *type, void *at, int index,
                          const pg_target *target) {
  const cdata *cd = cdata_test(L, f, index);
  bool is_name = type->kind == CT_ENUM && lua_type(L, index) == LUA_TSTRING;
  void *address;
  if ((type->kind != CT_INT && type->kind != CT_ENUM) || is_name) return false;
  if (cd && cd->type->kind == CT_STRUCT) return false;
  ctype *pointer = ffi_need(L, ct_pointer(f->types, ct_get(f->types, CTID_VOID)));
  if (!store(L, f, pointer, &address, index, target)) return false;
  ffi_write_number(type, at, (pg_number){.i = (int64_t)(intptr_t)address});
  return true;
}

void ffi_store(lua_State *L, pg_ffi *f, ctype *type, void *at, int index, const pg_target *target) {
  index = lua_absindex(L, index);
  if (store(L, f, type, at, index, target)) return;
  if (target && target->cast && store_address(L, f, type, at, index, target)) return;
  ffi_cannot(L, f, type, index, target);
}

void ffi_store_field(lua_State *L, pg_ffi *f, const ct_field *field, char *at, int index,
                     const pg_target *target) {
  pg_target member = target ? *target : (pg_target){0};
  member.member = field->name;
  if (!field->bits) {
    ffi_store(L, f, field->type, at, index, &member);
    return;
  }
  uint64_t value = 0;
  ffi_store(L, f, field->type, &value, index, &member);
  write_bits(field, at, value);
}
