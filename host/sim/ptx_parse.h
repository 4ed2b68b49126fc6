/* What the files of the parser share: its state, and one section for each file.
 * The module and everything in it live in lex.arena; `scratch` and the vectors end with the parse.
 */
#ifndef PG_SIM_PTX_PARSE_H
#define PG_SIM_PTX_PARSE_H

#include "ptx.h"
#include "ptx_arena.h"
#include "ptx_lex.h"

enum {
  PTX_SCOPE_MAX = 64,      /* nested { } in a function */
  PTX_DIMENSION_MAX = 16,  /* of an array */
  PTX_EXPRESSION_MAX = 64, /* nested operators and parentheses of a constant */
  PTX_MODIFIER_MAX = 64,   /* of an instruction; the longest of PTX 9 has a dozen */
  PTX_PLACE_BUCKETS = 1 << 14,
  PTX_REG_MAX = 1 << 20,
  PTX_INSTR_MAX = 4 << 20,
  PTX_TEXT_MAX = 64 << 20
};

typedef enum ptx_global { PTX_NO_GLOBAL, PTX_GLOBAL_VAR, PTX_GLOBAL_FUNC } ptx_global;

typedef enum ptx_binding_kind {
  PTX_BIND_REG,    /* index: the register */
  PTX_BIND_RANGE,  /* index: how many; registers come into being when they are first used */
  PTX_BIND_VAR,    /* name */
  PTX_BIND_LABEL,  /* name; index in the body */
  PTX_BIND_TARGETS /* name; index in the targets */
} ptx_binding_kind;

typedef struct ptx_binding {
  ptx_binding_kind kind;
  ptx_type type; /* of a range */
  int depth;     /* of the scope that declared it */
  int index;
  const char *name;          /* unique in the function */
  ptx_sym *sym;              /* as written */
  struct ptx_binding *outer; /* what it hides */
  struct ptx_binding *next;  /* of its scope */
} ptx_binding;

typedef struct ptx_scope {
  ptx_binding *names;
  int first_pending;
  ptx_pos open;
} ptx_scope;

/* A use of a name that may be declared further down: a label, or a function of the module. */
typedef struct ptx_pending {
  ptx_sym *sym;
  ptx_operand *operand; /* to be filled in, or NULL */
  const char **slot;    /* to be filled in, or NULL */
  bool is_label;        /* nothing else will do */
  ptx_pos pos;
} ptx_pending;

typedef struct ptx_mnemonic {
  const char *opcode;
  int mod_count;
  const char **mods;
  bool is_branch, is_call, is_video;
} ptx_mnemonic;

typedef struct ptx_place_entry {
  ptx_place place; /* first: a ptx_place is its entry */
  uint64_t file, line, column;
  int serial;                     /* of the function */
  struct ptx_place_entry *bucket; /* next of its bucket */
  struct ptx_place_entry *older;  /* next of all */
} ptx_place_entry;

typedef struct ptx_file {
  uint64_t id;
  int order; /* of the directive: the first of an id counts */
  const char *name;
} ptx_file;

typedef struct ptx_alias {
  ptx_sym *name, *target;
  ptx_pos pos;
} ptx_alias;

typedef struct ptx_parser {
  ptx_lex lex;
  ptx_arena scratch;
  ptx_module *module;
  ptx_vec vars, funcs;     /* ptx_var, ptx_func of the module */
  ptx_vec late;            /* ptx_pending: names to find when the module is complete */
  ptx_vec aliases, files;  /* ptx_alias, ptx_file */
  ptx_vec relocs;          /* struct ptx_reloc of the variable being initialised */
  ptx_place_entry *places; /* all, newest first */
  ptx_place_entry *buckets[PTX_PLACE_BUCKETS];
  uint64_t init_bytes; /* of all initialised variables */
  int instr_total;

  /* the function being parsed */
  int serial;             /* its number, from 1 */
  const ptx_place *place; /* of the next instruction */
  ptx_vec regs, locals, body, targets;
  ptx_vec pending;  /* ptx_pending of all open scopes */
  ptx_vec operands; /* stack of operands that still grow */
  ptx_vec names;    /* const char *: a list that still grows */
  int depth;        /* open scopes; 0 at module scope */
  ptx_scope scopes[PTX_SCOPE_MAX];
} ptx_parser;

/* A copy of items[first..] of a vector in the arena; the vector is cut back to `first`. */
void *ptx_take(ptx_parser *p, ptx_vec *vec, int first, size_t item_bytes);
#define PTX_PUSH(p, vec, type) ((type *)ptx_lex_push(&(p)->lex, (vec), sizeof(type), 1))
#define PTX_AT(vec, type, i) ((type *)(vec)->items + (i))

/* --- ptx_const.c: constant expressions --- */

typedef struct ptx_const {
  ptx_operand_kind kind; /* PTX_OP_INT, PTX_OP_F32 or PTX_OP_F64 */
  uint64_t bits;
  bool is_unsigned;
} ptx_const;

ptx_const ptx_constant(ptx_parser *p); /* at its first token */
int64_t ptx_offset(ptx_parser *p);     /* "+4-8" behind a base; 0 when there is none */
uint64_t ptx_small(ptx_parser *p, const char *what, uint64_t most); /* one literal of 0..most */

/* --- ptx_decl.c: variables, parameters, registers --- */

typedef struct ptx_head { /* what precedes the name: .align 8 .v2 .f32 */
  ptx_space space;
  ptx_type type;
  uint32_t align;
  int vector; /* 1, 2, 4, 8 */
  bool is_pointer, is_extern;
} ptx_head;

typedef struct ptx_shape { /* extents, outermost first; extent[0] is 0 for `x[]` */
  uint64_t extent[PTX_DIMENSION_MAX + 1];
  int count;
} ptx_shape;

ptx_sym *ptx_name(ptx_parser *p, const char *what); /* the current token as a plain name */
void ptx_skip_parentheses(ptx_parser *p);
void ptx_registers(ptx_parser *p);                                  /* behind ".reg" */
void ptx_variables(ptx_parser *p, ptx_space space, bool is_extern); /* behind ".global" etc. */
/* "(" a list of .param or .reg ")" into an array in the arena; bound in the scope when there is one
 */
ptx_var *ptx_formals(ptx_parser *p, int *count, bool bind);

/* --- ptx_init.c: initialisers --- */

/* Behind "=": fills var->init and relocs, and the first extent when it is open. */
void ptx_initialiser(ptx_parser *p, ptx_var *var, ptx_shape *shape);

/* --- ptx_scope.c: names --- */

void ptx_scope_open(ptx_parser *p);
void ptx_scope_close(ptx_parser *p);
ptx_sym *ptx_suffixed(ptx_parser *p, const ptx_sym *sym, int number); /* "NAME@NUMBER" */
ptx_binding *ptx_bind(ptx_parser *p, ptx_binding_kind kind, ptx_sym *sym, ptx_pos pos, int index);
void ptx_bind_range(ptx_parser *p, ptx_sym *prefix, ptx_pos pos, ptx_type type, uint64_t count);
void ptx_bind_register(ptx_parser *p, ptx_sym *sym, ptx_pos pos, ptx_type type);
/* What a name in an operand means. False: nothing yet, ask ptx_wait. */
bool ptx_resolve(ptx_parser *p, ptx_sym *sym, ptx_operand *out);
void ptx_wait(ptx_parser *p, ptx_pending pending);
void ptx_declare_global(ptx_sym *sym, ptx_global kind, int index);
void ptx_resolve_late(ptx_parser *p); /* at the module's end */

/* --- ptx_instr.c: one instruction --- */

void ptx_instruction(ptx_parser *p);          /* at its guard */
void ptx_label_or_instruction(ptx_parser *p); /* at a word */

/* --- ptx_func.c: functions and their bodies --- */

void ptx_function(ptx_parser *p, bool is_entry); /* behind ".entry" or ".func" */
void ptx_pragma(ptx_parser *p);
void ptx_targets_directive(ptx_parser *p, ptx_sym *label, ptx_pos pos); /* behind "label:" */
void ptx_apply_aliases(ptx_parser *p);

/* --- ptx_place.c: .file and .loc --- */

void ptx_file_directive(ptx_parser *p);
void ptx_loc_directive(ptx_parser *p);
void ptx_name_places(ptx_parser *p); /* when all .file are known */

#endif
