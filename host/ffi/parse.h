/* The parser of C declarations: what it offers, and what its files share.
 * Types and names go into the table; when a declaration is wrong, nothing of its text stays. */
#ifndef PG_FFI_PARSE_H
#define PG_FFI_PARSE_H

#include "lex.h"
#include "types.h"

/* What stands for a `$` in the text: a type, a name or a number. */
typedef struct ct_argument {
  enum { CT_ARG_TYPE, CT_ARG_NAME, CT_ARG_NUMBER } kind;
  ctype *type;
  const char *name;
  int64_t number;
} ct_argument;

/* "int f(int); struct s { ... };" Errors are PG_SYNTAX, PG_NOT_FOUND (an unknown type), PG_RANGE,
 * PG_UNSUPPORTED or PG_MEMORY, with line and column in the message. */
pg_code ct_declare_text(ct_table *table, const char *text, size_t length, const ct_argument *args,
                        int arg_count, pg_error *error);
/* "const char *", "struct s [4]", "int (*)(int)". */
pg_code ct_parse_type(ct_table *table, const char *text, size_t length, const ct_argument *args,
                      int arg_count, ctype **out, pg_error *error);

/* ---- shared by the files parse*.c ---- */

enum { DEPTH_MAX = 64, OPS_MAX = 64, PARAMS_MAX = 256, MEMBERS_MAX = 1 << 16 };

typedef struct parser {
  lexer lex;
  ct_table *table;
  const ct_argument *args;
  int arg_count, arg_used, depth, in_parameters;
  bool declares; /* in ffi.cdef, where a tag may come before its body */
} parser;

/* What attributes ask for. */
typedef struct attributes {
  bool packed;
  uint32_t align; /* 0: nothing */
  int mode;       /* CTID_SCHAR, CTID_DOUBLE, ...: a number of that width; 0: nothing */
} attributes;

/* What stands beside the type in front of a declarator. */
typedef struct specifiers {
  ctype *type;
  enum { STORE_NONE, STORE_TYPEDEF, STORE_EXTERN, STORE_STATIC } storage;
  attributes attr;
  unsigned quals;
} specifiers;

typedef struct declarator {
  ctype *type;
  const char *name, *label; /* NULL: none */
  attributes attr;
} declarator;

typedef struct constant {
  int64_t value;
  bool is_unsigned;
} constant;

/* In the order that one_specifier and array_suffix rely on: what may stand in [] comes first. */
enum word {
  WORD_CONST = 1,
  WORD_VOLATILE,
  WORD_NOTHING,
  WORD_TYPEDEF,
  WORD_EXTERN,
  WORD_STATIC,
  WORD_VOID,
  WORD_BOOL,
  WORD_CHAR,
  WORD_SHORT,
  WORD_INT,
  WORD_LONG,
  WORD_FLOAT,
  WORD_DOUBLE,
  WORD_SIGNED,
  WORD_UNSIGNED,
  WORD_TAGGED,
  WORD_ATTRIBUTE,
  WORD_ALIGNAS,
  WORD_ASM,
  WORD_SIZED,
  WORD_LDOUBLE,
  WORD_FLOAT128,
  WORD_COMPLEX,
  WORD_REFUSED
};

enum word parse_word(const parser *p);               /* now is this keyword; 0: none */
const ct_symbol *parse_typedef(const parser *p);     /* now names this type, or NULL */
bool parse_gives_type(const parser *p);              /* now is a `$` for a type */
bool parse_strip(const char **text, size_t *length); /* __name__ and __name become name */
bool parse_same(const char *text, size_t length, const char *word);

void *parse_need(parser *p, void *made); /* leaves with PG_MEMORY for NULL */
bool parse_accept(parser *p, int kind);  /* passes the token when it is this one */
void parse_expect(parser *p, int kind);
void parse_enter(parser *p);                  /* bounds recursion; with p->depth-- on the way out */
const ct_argument *parse_argument(parser *p); /* the next `$` */
bool parse_starts_type(parser *p);
void parse_attributes(parser *p, attributes *a);
ctype *parse_with_mode(parser *p, ctype *type, int mode);
const char *parse_label(parser *p); /* now is __asm__ */
bool parse_assertion(parser *p);    /* _Static_assert(...); or false */
const char *parse_name(parser *p);  /* NULL when now is none */
void parse_declare_constant(parser *p, const char *name, ctype *type, int64_t value);

void parse_specifiers(parser *p, specifiers *out);
void parse_declarator(parser *p, const specifiers *s, declarator *out);
ctype *parse_type_name(parser *p);
ctype *parse_tagged(parser *p); /* now is struct, union or enum */
constant parse_constant(parser *p);

#endif
