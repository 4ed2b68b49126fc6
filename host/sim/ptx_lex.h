/* The PTX lexer: one token at a time, and the errors that quote the line they stand on.
 * Errors leave by longjmp to `env`; everything allocated so far is in the arena or in the parser's
 * vectors. */
#ifndef PG_SIM_PTX_LEX_H
#define PG_SIM_PTX_LEX_H

#include <setjmp.h>

#include "ptx.h"
#include "ptx_arena.h"

/* Directives that the parser acts on. Types (".u32") are no words: they set ptx_sym.type. */
/*   id            spelling */
#define PTX_WORDS(X)                               \
  X(VERSION, ".version")                           \
  X(TARGET, ".target")                             \
  X(ADDRESS_SIZE, ".address_size")                 \
  X(FILE, ".file")                                 \
  X(LOC, ".loc")                                   \
  X(SECTION, ".section")                           \
  X(PRAGMA, ".pragma")                             \
  X(VISIBLE, ".visible")                           \
  X(WEAK, ".weak")                                 \
  X(EXTERN, ".extern")                             \
  X(COMMON, ".common")                             \
  X(ALIAS, ".alias")                               \
  X(ENTRY, ".entry")                               \
  X(FUNC, ".func")                                 \
  X(REG, ".reg")                                   \
  X(CONST, ".const")                               \
  X(GLOBAL, ".global")                             \
  X(LOCAL, ".local")                               \
  X(PARAM, ".param")                               \
  X(SHARED, ".shared")                             \
  X(ALIGN, ".align")                               \
  X(PTR, ".ptr")                                   \
  X(ATTRIBUTE, ".attribute")                       \
  X(V2, ".v2")                                     \
  X(V4, ".v4")                                     \
  X(V8, ".v8")                                     \
  X(MAXNTID, ".maxntid")                           \
  X(REQNTID, ".reqntid")                           \
  X(MINNCTAPERSM, ".minnctapersm")                 \
  X(MAXNCTAPERSM, ".maxnctapersm")                 \
  X(MAXNREG, ".maxnreg")                           \
  X(NORETURN, ".noreturn")                         \
  X(EXPLICITCLUSTER, ".explicitcluster")           \
  X(REQNCTAPERCLUSTER, ".reqnctapercluster")       \
  X(MAXCLUSTERRANK, ".maxclusterrank")             \
  X(BLOCKSARECLUSTERS, ".blocksareclusters")       \
  X(ABI_PRESERVE, ".abi_preserve")                 \
  X(ABI_PRESERVE_CONTROL, ".abi_preserve_control") \
  X(BRANCHTARGETS, ".branchtargets")               \
  X(CALLTARGETS, ".calltargets")                   \
  X(CALLPROTOTYPE, ".callprototype")

typedef enum ptx_word {
  PTX_NO_WORD,
#define PTX_X(id, spelling) PTX_WORD_##id,
  PTX_WORDS(PTX_X)
#undef PTX_X
} ptx_word;

/* A punctuation mark is its own kind: the character. */
typedef enum ptx_token_kind {
  PTX_TOK_END = 256,
  PTX_TOK_WORD,      /* name, register or instruction with its modifiers: sym */
  PTX_TOK_DIRECTIVE, /* ".u32": sym */
  PTX_TOK_INT,       /* bits */
  PTX_TOK_F32,       /* bits: 0f........ */
  PTX_TOK_F64,       /* bits: 0d................ or 1.5 */
  PTX_TOK_STRING     /* start and end: what stands between the quotes */
} ptx_token_kind;

typedef struct ptx_pos { /* where an error is reported */
  const char *at;
  int line;
} ptx_pos;

typedef struct ptx_token {
  int kind;
  const char *start, *end;
  int line;
  ptx_sym *sym;
  uint64_t bits;
  bool is_unsigned; /* 3U, or a literal above 2^63-1 */
} ptx_token;

typedef struct ptx_lex {
  ptx_token tok; /* the current one */
  const char *next;
  int line; /* of next */
  const char *text, *end;
  const char *name; /* of the text, for errors */
  ptx_arena *arena;
  ptx_symbols symbols;
  pg_error *error;
  pg_code code; /* of the failure */
  jmp_buf env;
} ptx_lex;

/* Interns the directives and reads the first token. text[bytes] is zero; env must be set. */
void ptx_lex_start(ptx_lex *lex);
void ptx_lex_next(ptx_lex *lex);
/* From a "{" as the current token: moves behind the matching "}", reading nothing in between. */
void ptx_lex_skip_block(ptx_lex *lex);

static inline bool ptx_lex_is(const ptx_lex *lex, int kind) {
  return lex->tok.kind == kind;
}
static inline bool ptx_lex_word(const ptx_lex *lex, ptx_word word) {
  return lex->tok.kind == PTX_TOK_DIRECTIVE && lex->tok.sym->word == word;
}
bool ptx_lex_accept(ptx_lex *lex, int kind);
void ptx_lex_expect(ptx_lex *lex, int kind, const char *what); /* "expected WHAT, got ..." */

static inline ptx_pos ptx_lex_pos(const ptx_lex *lex) {
  return (ptx_pos){lex->tok.start, lex->tok.line};
}
char ptx_lex_peek(const ptx_lex *lex);      /* the next character that is not blank */
bool ptx_lex_peek_name(const ptx_lex *lex); /* is it the first of a name? */

_Noreturn void ptx_lex_expected(ptx_lex *lex, const char *what); /* "expected WHAT, got `...`" */
_Noreturn void ptx_lex_fail(ptx_lex *lex, ptx_pos pos, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void ptx_lex_limit(ptx_lex *lex, const char *what); /* PG_MEMORY: "WHAT" */

void *ptx_lex_alloc(ptx_lex *lex, size_t bytes); /* zeros, from the arena; never NULL */
void *ptx_lex_copy(ptx_lex *lex, const void *from, size_t bytes);
ptx_sym *ptx_lex_intern(ptx_lex *lex, const char *name, size_t length);
void *ptx_lex_push(ptx_lex *lex, ptx_vec *vec, size_t item_bytes, int more); /* never NULL */

#endif
