/* PTX text -> syntax tree: lexer, parser and name resolution. Everything of a module lives in its
 * arena and is freed by ptx_free; strings in it are interned (equal names are equal pointers within
 * a module). */
#ifndef PG_SIM_PTX_H
#define PG_SIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../error.h"

/* State spaces. */
typedef enum ptx_space {
  PTX_GENERIC,
  PTX_REG,
  PTX_CONST,
  PTX_GLOBAL,
  PTX_LOCAL,
  PTX_PARAM,
  PTX_SHARED
} ptx_space;

/* id, spelling, bytes */
// clang-format off
#define PTX_TYPES(X) \
  X(B8, "b8", 1) X(B16, "b16", 2) X(B32, "b32", 4) X(B64, "b64", 8) X(B128, "b128", 16) \
  X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8) \
  X(S8, "s8", 1) X(S16, "s16", 2) X(S32, "s32", 4) X(S64, "s64", 8) \
  X(F16, "f16", 2) X(F16X2, "f16x2", 4) X(BF16, "bf16", 2) X(BF16X2, "bf16x2", 4) \
  X(F32, "f32", 4) X(F64, "f64", 8) X(PRED, "pred", 0)
// clang-format on

typedef enum ptx_type {
  PTX_NONE,
#define PTX_X(id, name, bytes) PTX_##id,
  PTX_TYPES(PTX_X)
#undef PTX_X
      PTX_TYPE_COUNT
} ptx_type;

const char *ptx_type_name(ptx_type type); /* "u32" */
uint32_t ptx_type_bytes(ptx_type type);
ptx_type ptx_type_parse(const char *name); /* PTX_NONE when it is no type */

/* A variable in memory, or a formal parameter. */
typedef struct ptx_var {
  const char
      *name; /* unique in its function (a name redeclared in an inner scope gets a suffix "@N") */
  ptx_space space;
  ptx_type type;  /* element type */
  uint32_t align; /* bytes; natural alignment of the type unless .align says more */
  uint64_t count; /* elements; 1 for a scalar; 0 for an incomplete array `x[]` */
  bool is_array;
  bool is_pointer; /* a parameter marked .ptr */
  bool is_extern;
  int line;
  const uint8_t *init; /* initial bytes (count * size of type), NULL when none: zeros */
  /* Addresses inside an initialiser ({ generic(x), f, x+4 }): to be added at these byte offsets. */
  struct ptx_reloc {
    uint64_t at;
    const char *symbol;
    int64_t addend;
    bool generic; /* generic(x) */
    int bytes;    /* low bytes of the address: 8, 4, or a run of masks 0xFF(x), 0xFF00(x), ... */
  } * relocs;
  int reloc_count;
} ptx_var;

typedef struct ptx_reg {
  const char *name; /* "%r3"; a redeclaration in an inner scope is another register */
  ptx_type type;
} ptx_reg;

typedef enum ptx_operand_kind {
  PTX_OP_REG,     /* reg */
  PTX_OP_INT,     /* bits: 64-bit two's complement */
  PTX_OP_F32,     /* bits: 0f........ */
  PTX_OP_F64,     /* bits: 0d................ or a decimal literal */
  PTX_OP_SPECIAL, /* name: "%tid.x", "%laneid", "%envreg1", WARP_SZ */
  PTX_OP_SYMBOL,  /* name: a variable or function; bits: byte offset (`x+4`) */
  PTX_OP_LABEL,   /* name: a label of this function; bits: its index in the body, or in the
                     targets when it stands before .branchtargets, .calltargets, .callprototype */
  PTX_OP_ADDRESS, /* [base + offset]: items[0] is REG, SYMBOL or INT; bits: byte offset */
  PTX_OP_VECTOR,  /* {a, b, ...}: items */
  PTX_OP_PAIR,    /* d|p: items[0], items[1] */
  PTX_OP_TUPLE,   /* (a, b): the argument lists of call */
  PTX_OP_SINK     /* _ */
} ptx_operand_kind;

typedef struct ptx_operand {
  ptx_operand_kind kind;
  bool negated;     /* !p as source operand; -r of a video instruction */
  int reg;          /* index in the function's registers */
  const char *part; /* of a register, for a video instruction: "b0"; NULL: all of it */
  const char *name;
  uint64_t bits;
  int count;
  struct ptx_operand *items;
} ptx_operand;

/* A place in the source that .loc names; equal places of a function are one pointer. */
typedef struct ptx_place {
  const char *file; /* NULL when no .file gives the number a name */
  int line;
  const struct ptx_place *inlined_at; /* where that function was inlined, NULL when it was not */
} ptx_place;

typedef struct ptx_instr {
  const char *opcode; /* "ld", "setp", "bra"; NULL: a label (name in operands[0].name) */
  int mod_count;
  const char *
      *mods; /* without dots, in order: {"global", "nc", "v4", "f32"}; "::" stays inside a part */
  int guard; /* register index of the guard predicate, -1 none */
  bool guard_negated;
  int operand_count;
  ptx_operand *operands;
  int line;         /* in the PTX text */
  const char *file; /* from .file/.loc; NULL when the PTX carries none */
  int file_line;
  const ptx_place *place; /* the same and what it was inlined into (atomicAdd -> its caller) */
  const char *text; /* the instruction as written, white space folded, without the semicolon */
} ptx_instr;

typedef struct ptx_func {
  const char *name;
  bool is_entry;  /* .entry (a kernel) or .func */
  bool is_extern; /* declared without a body (vprintf, __assertfail, ...) */
  bool noreturn;
  int line;
  int ret_count, param_count;
  ptx_var *rets, *params;
  int reg_count; /* a register of a range (%r<14>) exists when an instruction names it */
  ptx_reg *regs;
  int var_count; /* .local, .shared and .param variables declared in the body */
  ptx_var *vars;
  int instr_count; /* labels included: their index is the target of a branch */
  ptx_instr *body;
  uint32_t maxntid[3], reqntid[3]; /* 0 when not given */
  /* .branchtargets / .calltargets / .callprototype by label, for brx.idx and indirect calls */
  struct ptx_targets {
    const char *label;
    int count;
    const char **names; /* labels or functions; empty for a prototype */
  } * targets;
  int targets_count;
} ptx_func;

typedef struct ptx_module {
  int version_major, version_minor;
  char target[32];  /* "sm_90" */
  int address_size; /* 64; 32 is an error */
  int var_count;
  ptx_var *vars; /* .global, .const, .shared at module scope */
  int func_count;
  ptx_func *funcs;
  void *arena;
} ptx_module;

/* Parse zero-terminated PTX. Errors: PG_SYNTAX with where = "NAME:LINE" and the line's text in the
 * message; PG_MEMORY past limits (64 MiB of text, 1 Mi registers, 4 Mi instructions). Any bytes are
 * safe. */
pg_code ptx_parse(const char *text, size_t bytes, const char *name, ptx_module **out,
                  pg_error *error);
void ptx_free(ptx_module *module); /* NULL is allowed */
const ptx_func *ptx_find(const ptx_module *module, const char *name);

#endif
