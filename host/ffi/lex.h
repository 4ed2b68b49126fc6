/* Tokens of C declarations. Comments are passed over; of directives, `#pragma pack` and line
 * markers are understood, any other is an error: LuaJIT takes no preprocessor input either. */
#ifndef PG_FFI_LEX_H
#define PG_FFI_LEX_H

#include "types.h"

#include <setjmp.h>

/* Single characters are themselves. */
typedef enum token_kind {
  TOKEN_END = 256,
  TOKEN_NAME,
  TOKEN_NUMBER,
  TOKEN_STRING,
  TOKEN_DOTS,
  TOKEN_SHL,
  TOKEN_SHR,
  TOKEN_LE,
  TOKEN_GE,
  TOKEN_EQ,
  TOKEN_NE,
  TOKEN_AND,
  TOKEN_OR
} token_kind;

typedef struct token {
  int kind;
  const char *text; /* in the source; a string without its quotes */
  size_t length;
  int64_t value;
  bool is_unsigned;
  int line, column;
} token;

enum { PACK_DEPTH = 8 };

typedef struct lexer {
  const char *at, *end, *line_start;
  int line;
  token now;
  uint32_t pack, packs[PACK_DEPTH]; /* of #pragma pack; 0: none */
  int pack_depth;
  jmp_buf *out; /* where an error goes, once *error is set */
  pg_error *error;
} lexer;

void lex_start(lexer *lex, const char *text, size_t length, jmp_buf *out, pg_error *error);
void lex_next(lexer *lex); /* now becomes the next token */

/* From the '{' that now is to the token behind its '}', whatever is between. */
void lex_skip_body(lexer *lex);

/* Leave with an error at the token `now`. */
_Noreturn void lex_fail(lexer *lex, pg_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* ... which says that something else was expected. */
_Noreturn void lex_expected(lexer *lex, const char *what);

bool lex_is(const lexer *lex, const char *word); /* now is this name */

#endif
