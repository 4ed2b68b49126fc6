/* The C types that an ffi knows, and the names declared for them.
 * A ct_table owns every type, field and name; types are made once, so equal types are one pointer
 * (but each struct, union and enum is itself). Pointers stay valid until ct_table_free. */
#ifndef PG_FFI_TYPES_H
#define PG_FFI_TYPES_H

#include "../error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ct_kind {
  CT_VOID,
  CT_BOOL,
  CT_INT,
  CT_FLOAT,
  CT_ENUM,
  CT_PTR,
  CT_ARRAY,
  CT_STRUCT,
  CT_FUNC
} ct_kind;

enum { CT_CONST = 1, CT_VOLATILE = 2 };
#define CT_NOSIZE SIZE_MAX /* void, functions, int[], int[?], structs without a body */
#define CT_SIZE_MAX ((size_t)1 << 46)

typedef struct ctype ctype;

/* A member, a parameter (type alone), or a constant of an enum (value alone). */
typedef struct ct_field {
  const char *name; /* NULL: an anonymous struct or union, whose members are reached through it */
  ctype *type;
  size_t offset;
  int64_t value;
  uint8_t bit, bits; /* of a bit-field: first bit after offset, and how many; bits 0: none */
} ct_field;

struct ctype {
  ct_kind kind;
  uint8_t quals;
  bool is_unsigned, is_union, is_vla, variadic;
  bool is_word; /* a struct to us, a word in C: complex, with re and im; __int128, with nothing */
  uint32_t id, align, count;
  uint32_t demanded; /* alignment that a typedef's attribute gave this variant of base; 0: none */
  size_t size;
  size_t length;    /* of an array: its elements; CT_NOSIZE for [] and [?] */
  ctype *base;      /* the same type without qualifiers and demands; of itself, itself */
  ctype *child;     /* what a pointer points to, an array holds, a function returns, an enum is */
  const char *name; /* of a struct, union or enum; NULL without one */
  ct_field *fields; /* members, parameters or constants: `count` of them */
  ctype *next;      /* in the same bucket of the table */
  int metatable;    /* set by ffi.metatype: a reference in Lua's registry, or 0 */
  struct pg_plan *plan; /* how a function is called, or a struct passed: made when first needed */
};

typedef enum ct_symbol_kind { CT_TYPEDEF, CT_OBJECT, CT_CONSTANT, CT_TAG } ct_symbol_kind;

typedef struct ct_symbol {
  const char *name;
  ct_symbol_kind kind;
  ctype *type;
  int64_t value;     /* of a constant */
  const char *label; /* the name in the library, when __asm__ gave another one; else NULL */
  struct ct_symbol *next;
} ct_symbol;

/* Types that code names; the table holds them from the start, at these indices. */
enum {
  CTID_VOID,
  CTID_BOOL,
  CTID_CHAR,
  CTID_SCHAR,
  CTID_UCHAR,
  CTID_SHORT,
  CTID_USHORT,
  CTID_INT,
  CTID_UINT,
  CTID_INT64,
  CTID_UINT64,
  CTID_FLOAT,
  CTID_DOUBLE,
  CTID_LDOUBLE,
  CTID_COMPLEX_FLOAT, /* in the order of their parts */
  CTID_COMPLEX,
  CTID_COMPLEX_LDOUBLE,
  CTID_INT128,
  CTID_UINT128,
  CTID_FLOAT128,
  CTID_COMPLEX_FLOAT128,
  CTID_BASIC
};

typedef struct ct_table ct_table;

ct_table *ct_table_new(void); /* NULL: out of memory */
void ct_table_free(ct_table *table);

/* `count` types there are; the i-th of them. */
uint32_t ct_count(const ct_table *table);
ctype *ct_get(const ct_table *table, uint32_t id);

/* Memory that lives as long as the table, zeroed; NULL when there is none. */
void *ct_alloc(ct_table *table, size_t bytes);
const char *ct_string(ct_table *table, const char *text, size_t length);

/* From begin to end the table keeps what changes, so that the end can undo it. Who changes a type
 * says so first, by ct_keep: NULL when there is no memory for what is there. */
void ct_begin(ct_table *table);
void *ct_keep(ct_table *table, void *place, size_t size);
void ct_end(ct_table *table, bool undo);

/* All give NULL when out of memory. */
ctype *ct_new(ct_table *table, ct_kind kind); /* a struct, union or enum of its own */
ctype *ct_pointer(ct_table *table, ctype *child);
ctype *ct_array(ct_table *table, ctype *child, size_t length, bool is_vla);
ctype *ct_function(ct_table *table, ctype *result, const ct_field *params, uint32_t count,
                   bool variadic);
ctype *ct_qualified(ct_table *table, ctype *type, unsigned quals);
ctype *ct_aligned(ct_table *table, ctype *type, uint32_t align); /* as a typedef may be */

/* One type but for qualifiers and alignment; what pointers point to is qualified alike. */
bool ct_same(const ctype *a, const ctype *b);
/* Two structs, unions or enums that were defined by the same words, whatever their tags. */
bool ct_alike(const ctype *a, const ctype *b);

static inline bool ct_is_complex(const ctype *type) {
  return type->kind == CT_STRUCT && type->base->is_word && type->base->count == 2;
}

/* The alignment of a value of that type: base has its own. */
static inline uint32_t ct_align(const ctype *type) {
  return type->demanded ? type->demanded : type->base->align;
}

/* The symbol, or NULL. Tags (struct, union, enum) have a name space of their own. */
ct_symbol *ct_find(const ct_table *table, const char *name, size_t length, bool tag);
/* Declare: a new symbol, or the old one of that name, changed. NULL: out of memory. */
ct_symbol *ct_declare(ct_table *table, const char *name, ct_symbol_kind kind, ctype *type);

/* Size and place of members. Fields hold types and, of bit-fields, `bits`; a bit-field of width 0
 * has no name and `value` 1. `aligns` are what attributes demand of each (0: nothing). false: too
 * large. */
typedef struct ct_layout {
  bool packed;
  uint32_t align, pack; /* of the attribute; of #pragma pack, 0 when there is none */
  const uint32_t *aligns;
  const bool *packs;
} ct_layout;
bool ct_lay_out(ctype *type, const ct_layout *how);

/* The member of that name, also through anonymous ones; its offset from the start of `type`. */
const ct_field *ct_member(const ctype *type, const char *name, size_t *offset);

/* Spelled as LuaJIT does: "const char *", "int (*)()", "struct point [4]". `text` is ended. */
enum { CT_NAME_MAX = 256 };
const char *ct_name(const ctype *type, bool reference, char text[CT_NAME_MAX]);

#endif
