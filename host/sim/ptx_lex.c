/* The PTX lexer: one token at a time, and the errors that quote the line they stand on. */
#include "ptx_lex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE = 1, WORD = 2, START = 4, DIGIT = 8, HEX = 16, MARK = 32 };

#define W (WORD | START)
#define X (WORD | START | HEX)
#define N (WORD | DIGIT | HEX)
#define M MARK

/* clang-format off */
static const uint8_t class_of[256] = {
  0,0,0,0,0,0,0,0,0,SPACE,0,SPACE,SPACE,SPACE,0,0, /* \n is counted, so it stands alone */
  0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,
  SPACE,M,0,0,W,START|M,M,0,M,M,M,M,M,M,0,M,       /* ! $ % & ( ) * + , - /; % starts a name, too */
  N,N,N,N,N,N,N,N,N,N,M,M,M,M,M,M,                 /* 0-9 : ; < = > ? */
  M,X,X,X,X,X,X,W,W,W,W,W,W,W,W,W,                 /* @ A-O */
  W,W,W,W,W,W,W,W,W,W,W,M,0,M,M,W,                 /* P-Z [ ] ^ _ */
  0,X,X,X,X,X,X,W,W,W,W,W,W,W,W,W,                 /* a-o */
  W,W,W,W,W,W,W,W,W,W,W,M,M,M,M,0,                 /* p-z { | } ~; the rest is 0 */
};
/* clang-format on */
#undef W
#undef X
#undef N
#undef M

static inline bool is(char c, int classes) {
  return (class_of[(uint8_t)c] & classes) != 0;
}

/* --- errors ------------------------------------------------------------------------------------
 */

/* The line around `at`, trimmed, control characters as spaces, at most `bytes` long. */
static void quote_line(const ptx_lex *lex, const char *at, char *out, size_t bytes) {
  const char *from = at, *to = at;
  while (from > lex->text && from[-1] != '\n') from--;
  while (to < lex->end && *to != '\n') to++;
  while (from < to && is(*from, SPACE)) from++;
  while (to > from && is(to[-1], SPACE)) to--;
  /* of a very long line, what surrounds the place */
  if ((size_t)(to - from) >= bytes && (size_t)(at - from) > bytes / 2) from = at - bytes / 2;
  size_t n = 0;
  for (; from < to && n + 1 < bytes; from++) {
    bool plain = *from >= 0x20 && *from < 0x7f;
    out[n++] = plain ? *from : ' ';
  }
  out[n] = 0;
}

static _Noreturn void leave(ptx_lex *lex, pg_code code) {
  lex->code = code;
  longjmp(lex->env, 1);
}

void ptx_lex_fail(ptx_lex *lex, ptx_pos pos, const char *format, ...) {
  char reason[512], line[256];
  va_list args;
  va_start(args, format);
  vsnprintf(reason, sizeof reason, format, args);
  va_end(args);
  quote_line(lex, pos.at, line, sizeof line);
  pg_fail(lex->error, PG_SYNTAX, "%s in line %d: %s", reason, pos.line, line);
  pg_where(lex->error, "%s:%d", lex->name, pos.line);
  leave(lex, PG_SYNTAX);
}

/* The current token, shortened, for "got ..." */
static const char *spelling(const ptx_lex *lex, char *buffer, size_t bytes) {
  const ptx_token *tok = &lex->tok;
  if (tok->kind == PTX_TOK_END) return "the end of the text";
  const char *quote = tok->kind == PTX_TOK_STRING ? "\"" : "";
  int length = tok->end - tok->start > 60 ? 60 : (int)(tok->end - tok->start);
  snprintf(buffer, bytes, "`%s%.*s%s`", quote, length, tok->start, quote);
  return buffer;
}

void ptx_lex_expected(ptx_lex *lex, const char *what) {
  char got[80];
  ptx_lex_fail(lex, ptx_lex_pos(lex), "expected %s, got %s", what, spelling(lex, got, sizeof got));
}

void ptx_lex_limit(ptx_lex *lex, const char *what) {
  pg_fail(lex->error, PG_MEMORY, "%s", what);
  pg_where(lex->error, "%s:%d", lex->name, lex->tok.line);
  leave(lex, PG_MEMORY);
}

/* --- memory ------------------------------------------------------------------------------------
 */

static _Noreturn void no_memory(ptx_lex *lex) {
  ptx_lex_limit(lex, "not enough memory for the PTX module");
}

void *ptx_lex_alloc(ptx_lex *lex, size_t bytes) {
  void *out = ptx_arena_alloc(lex->arena, bytes);
  if (!out) no_memory(lex);
  return out;
}

void *ptx_lex_copy(ptx_lex *lex, const void *from, size_t bytes) {
  void *out = ptx_lex_alloc(lex, bytes);
  if (bytes) memcpy(out, from, bytes);
  return out;
}

ptx_sym *ptx_lex_intern(ptx_lex *lex, const char *name, size_t length) {
  ptx_sym *sym = ptx_intern(&lex->symbols, name, length);
  if (!sym) no_memory(lex);
  return sym;
}

void *ptx_lex_push(ptx_lex *lex, ptx_vec *vec, size_t item_bytes, int more) {
  void *out = ptx_vec_push(vec, item_bytes, more);
  if (!out) no_memory(lex);
  return out;
}

/* --- white space and comments ------------------------------------------------------------------
 */

static const char *skip_line(const ptx_lex *lex, const char *s) {
  const char *end = memchr(s, '\n', (size_t)(lex->end - s));
  return end ? end : lex->end;
}

static const char *skip_comment(ptx_lex *lex, const char *s) {
  ptx_pos start = {s, lex->line};
  for (s += 2; !(s[0] == '*' && s[1] == '/'); s++) {
    if (s >= lex->end) ptx_lex_fail(lex, start, "a comment is never closed");
    if (*s == '\n') lex->line++;
  }
  return s + 2;
}

static const char *skip_space(ptx_lex *lex, const char *s) {
  for (;;) {
    if (is(*s, SPACE)) {
      s++;
    } else if (*s == '\n') {
      lex->line++;
      s++;
    } else if (*s == '/' && s[1] == '/') {
      s = skip_line(lex, s);
    } else if (*s == '/' && s[1] == '*') {
      s = skip_comment(lex, s);
    } else {
      return s;
    }
  }
}

/* --- tokens ------------------------------------------------------------------------------------
 */

static const char *name_token(ptx_lex *lex, int kind, const char *s, uint32_t hash) {
  ptx_token *tok = &lex->tok;
  tok->kind = kind;
  tok->sym = ptx_intern_hashed(&lex->symbols, tok->start, (size_t)(s - tok->start), hash);
  if (!tok->sym) no_memory(lex);
  return s;
}

/* A name or register; dotted parts and "::" (ld.shared::cta.u32, %tid.x) belong to it. */
static const char *lex_word(ptx_lex *lex, const char *s) {
  uint32_t hash = ptx_hash_step((uint32_t)PTX_HASH_SEED, *s++);
  for (;;) {
    if (is(*s, WORD) || (*s == '.' && is(s[1], WORD))) {
      hash = ptx_hash_step(hash, *s++);
    } else if (s[0] == ':' && s[1] == ':' && is(s[2], WORD)) {
      hash = ptx_hash_step(ptx_hash_step(hash, ':'), ':');
      s += 2;
    } else {
      return name_token(lex, PTX_TOK_WORD, s, hash);
    }
  }
}

static const char *lex_directive(ptx_lex *lex, const char *s) {
  uint32_t hash = ptx_hash_step((uint32_t)PTX_HASH_SEED, *s++);
  /* "::" for a modifier that stands apart from its instruction */
  while (is(*s, WORD) || (s[0] == ':' && is(s[1], WORD) && s[-1] == ':') ||
         (s[0] == ':' && s[1] == ':' && is(s[2], WORD)))
    hash = ptx_hash_step(hash, *s++);
  return name_token(lex, PTX_TOK_DIRECTIVE, s, hash);
}

static _Noreturn void bad_number(ptx_lex *lex, const char *why) {
  const char *end = lex->tok.start;
  while (is(*end, WORD) || *end == '.') end++;
  int length = end - lex->tok.start > 60 ? 60 : (int)(end - lex->tok.start);
  ptx_lex_fail(lex, ptx_lex_pos(lex), "`%.*s` is not a number: %s", length, lex->tok.start, why);
}

static int digit_value(char c) {
  if (is(c, DIGIT)) return c - '0';
  return is(c, HEX) ? (c | 32) - 'a' + 10 : 99;
}

/* 0f and 0d literals: the bits in exactly 8 or 16 hexadecimal digits. */
static const char *lex_float_bits(ptx_lex *lex, const char *s, int digits) {
  uint64_t bits = 0;
  for (int i = 0; i < digits; i++, s++) {
    if (!is(*s, HEX)) bad_number(lex, digits == 8 ? "0f takes 8 digits" : "0d takes 16 digits");
    bits = bits << 4 | (uint64_t)digit_value(*s);
  }
  lex->tok.kind = digits == 8 ? PTX_TOK_F32 : PTX_TOK_F64;
  lex->tok.bits = bits;
  return s;
}

static const char *lex_decimal_float(ptx_lex *lex) {
  char *end;
  double value = strtod(lex->tok.start, &end);
  lex->tok.kind = PTX_TOK_F64;
  memcpy(&lex->tok.bits, &value, sizeof value);
  return end;
}

static const char *lex_int(ptx_lex *lex, const char *s, int base) {
  uint64_t bits = 0;
  if (digit_value(*s) >= base) bad_number(lex, "digits are missing");
  for (; digit_value(*s) < base; s++) {
    if (__builtin_mul_overflow(bits, (uint64_t)base, &bits) ||
        __builtin_add_overflow(bits, (uint64_t)digit_value(*s), &bits))
      bad_number(lex, "it exceeds 64 bits");
  }
  lex->tok.kind = PTX_TOK_INT;
  lex->tok.bits = bits;
  lex->tok.is_unsigned = *s == 'U' || bits > INT64_MAX;
  return s + (*s == 'U');
}

/* A decimal number has a point or an exponent: 1.5, 1., 1e9 */
static bool is_decimal_float(const char *s) {
  while (is(*s, DIGIT)) s++;
  if (*s == '.') return true;
  if ((*s | 32) != 'e') return false;
  return is(s[1], DIGIT) || ((s[1] == '+' || s[1] == '-') && is(s[2], DIGIT));
}

static const char *lex_number(ptx_lex *lex, const char *s) {
  char second = (char)(s[0] == '0' ? s[1] | 32 : 0);
  const char *end;
  if (second == 'f') {
    end = lex_float_bits(lex, s + 2, 8);
  } else if (second == 'd') {
    end = lex_float_bits(lex, s + 2, 16);
  } else if (second == 'x') {
    end = lex_int(lex, s + 2, 16);
  } else if (second == 'b') {
    end = lex_int(lex, s + 2, 2);
  } else if (is_decimal_float(s)) {
    end = lex_decimal_float(lex);
  } else {
    end = lex_int(lex, s, *s == '0' ? 8 : 10);
  }
  if (is(*end, WORD)) bad_number(lex, "a digit or suffix does not belong to it");
  return end;
}

static const char *lex_string(ptx_lex *lex, const char *s) {
  lex->tok.kind = PTX_TOK_STRING;
  ptx_pos start = ptx_lex_pos(lex);
  lex->tok.start = ++s;
  for (; *s != '"'; s++) {
    if (*s == '\\' && s[1] && s[1] != '\n') s++;
    if (*s == '\n' || s >= lex->end) ptx_lex_fail(lex, start, "a string is never closed");
  }
  lex->tok.end = s;
  return s + 1;
}

static const char *lex_mark(ptx_lex *lex, const char *s) {
  if (s == lex->end) {
    lex->tok.kind = PTX_TOK_END;
    return s;
  }
  if (!is(*s, MARK)) {
    ptx_lex_fail(lex, ptx_lex_pos(lex), "a character that PTX does not use (0x%02x)",
                 (unsigned)(uint8_t)*s);
  }
  lex->tok.kind = *s;
  return s + 1;
}

void ptx_lex_next(ptx_lex *lex) {
  const char *s = skip_space(lex, lex->next);
  ptx_token *tok = &lex->tok;
  tok->start = tok->end = s;
  tok->line = lex->line;
  if (*s == '%' ? is(s[1], WORD) : is(*s, START)) {
    lex->next = lex_word(lex, s);
  } else if (is(*s, DIGIT)) {
    lex->next = lex_number(lex, s);
  } else if (*s == '.' && is(s[1], WORD)) {
    lex->next = lex_directive(lex, s);
  } else if (*s == '"') {
    lex->next = lex_string(lex, s);
    return;
  } else {
    lex->next = lex_mark(lex, s);
  }
  tok->end = lex->next;
}

char ptx_lex_peek(const ptx_lex *lex) {
  const char *s = lex->next;
  while (is(*s, SPACE)) s++;
  return *s;
}

bool ptx_lex_peek_name(const ptx_lex *lex) {
  return is(ptx_lex_peek(lex), START);
}

bool ptx_lex_accept(ptx_lex *lex, int kind) {
  if (lex->tok.kind != kind) return false;
  ptx_lex_next(lex);
  return true;
}

void ptx_lex_expect(ptx_lex *lex, int kind, const char *what) {
  if (!ptx_lex_accept(lex, kind)) ptx_lex_expected(lex, what);
}

/* Debug sections are most of a module built for debugging: only braces, lines and comments matter.
 */
void ptx_lex_skip_block(ptx_lex *lex) {
  ptx_pos open = ptx_lex_pos(lex);
  const char *s = lex->next;
  for (int depth = 1; depth > 0; s++) {
    if (*s == '/' || *s == '\n') s = skip_space(lex, s);
    if (s >= lex->end) ptx_lex_fail(lex, open, "a section is never closed");
    depth += (*s == '{') - (*s == '}');
  }
  lex->next = s;
  ptx_lex_next(lex);
}

void ptx_lex_start(ptx_lex *lex) {
#define PTX_X(id, spelling) \
  ptx_lex_intern(lex, spelling, sizeof spelling - 1)->word = PTX_WORD_##id;
  PTX_WORDS(PTX_X)
#undef PTX_X
#define PTX_X(id, spelling, bytes) \
  ptx_lex_intern(lex, "." spelling, sizeof spelling)->type = PTX_##id;
  PTX_TYPES(PTX_X)
#undef PTX_X
  lex->next = lex->text;
  lex->line = 1;
  ptx_lex_next(lex);
}
