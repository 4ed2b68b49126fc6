/* The tokeniser of C declarations.
 * An error names line and column, and leaves by longjmp: everything made is the table's. */
#include "lex.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

_Noreturn void lex_fail(lexer *lex, pg_code code, const char *format, ...) {
  char text[PG_MESSAGE_MAX / 2];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  pg_fail(lex->error, code, "C declaration, line %d, column %d: %s", lex->now.line, lex->now.column,
          text);
  longjmp(*lex->out, 1);
}

_Noreturn void lex_expected(lexer *lex, const char *what) {
  const token *t = &lex->now;
  if (t->kind == TOKEN_END) lex_fail(lex, PG_SYNTAX, "expected %s, the text ends", what);
  lex_fail(lex, PG_SYNTAX, "expected %s, got '%.*s'", what, t->length > 60 ? 60 : (int)t->length,
           t->text);
}

bool lex_is(const lexer *lex, const char *word) {
  const token *t = &lex->now;
  return t->kind == TOKEN_NAME && t->length == strlen(word) && !memcmp(t->text, word, t->length);
}

static int peek(const lexer *lex, size_t ahead) {
  return (size_t)(lex->end - lex->at) > ahead ? (unsigned char)lex->at[ahead] : -1;
}

static void step(lexer *lex) {
  if (*lex->at++ != '\n') return;
  lex->line++;
  lex->line_start = lex->at;
}

static void place(lexer *lex) {
  lex->now.line = lex->line;
  lex->now.column = (int)(lex->at - lex->line_start) + 1;
  lex->now.text = lex->at;
  lex->now.length = 1;
}

static void block_comment(lexer *lex) {
  place(lex);
  lex->at += 2;
  while (peek(lex, 0) != '*' || peek(lex, 1) != '/') {
    if (peek(lex, 0) < 0) lex_fail(lex, PG_SYNTAX, "a comment that does not end");
    step(lex);
  }
  lex->at += 2;
}

static void line_comment(lexer *lex) {
  while (peek(lex, 0) >= 0 && peek(lex, 0) != '\n') lex->at++;
}

/* ---- directives ---- */

static void pack_push(lexer *lex) {
  if (lex->pack_depth == PACK_DEPTH) lex_fail(lex, PG_RANGE, "#pragma pack(push) nested too deep");
  lex->packs[lex->pack_depth++] = lex->pack;
}

static void pack_pop(lexer *lex) {
  if (!lex->pack_depth) lex_fail(lex, PG_SYNTAX, "#pragma pack(pop) without a push");
  lex->pack = lex->packs[--lex->pack_depth];
}

static void set_pack(lexer *lex, unsigned bytes) {
  if (!bytes || bytes > 16 || (bytes & (bytes - 1)))
    lex_fail(lex, PG_RANGE, "#pragma pack of %u bytes: expected 1, 2, 4, 8 or 16", bytes);
  lex->pack = bytes;
}

/* The text within the parentheses: "", "push", "push, 4", "pop", "4". */
static void pragma_pack(lexer *lex, const char *inside) {
  char word[8] = "";
  unsigned bytes = 0;
  int used = 0;
  if (sscanf(inside, " %7[a-z] , %u", word, &bytes) >= 1) {
    used = 1;
    if (strcmp(word, "push") == 0)
      pack_push(lex);
    else if (strcmp(word, "pop") == 0)
      pack_pop(lex);
    else
      lex_fail(lex, PG_SYNTAX, "#pragma pack(%s)", word);
    if (bytes) set_pack(lex, bytes);
  } else if (sscanf(inside, " %u", &bytes) == 1) {
    set_pack(lex, bytes);
  } else if (!used) {
    lex->pack = 0;
  }
}

static void directive(lexer *lex) {
  char line[128], inside[64] = "";
  place(lex);
  const char *start = lex->at;
  line_comment(lex);
  size_t length = (size_t)(lex->at - start);
  snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1),
           start);
  const char *word = line + 1 + strspn(line + 1, " \t");
  if (isdigit((unsigned char)*word) || strncmp(word, "line", 4) == 0) return; /* # 12 "file.h" */
  if (strncmp(word, "pragma", 6) != 0)
    lex_fail(lex, PG_SYNTAX, "a directive; run the preprocessor first, or leave it out");
  word += 6 + strspn(word + 6, " \t");
  if (strncmp(word, "pack", 4) != 0) return;
  const char *open = strchr(word, '('), *close = open ? strchr(open, ')') : NULL;
  if (!close) lex_fail(lex, PG_SYNTAX, "#pragma pack without parentheses");
  snprintf(inside, sizeof inside, "%.*s", (int)(close - open - 1), open + 1);
  pragma_pack(lex, inside);
}

static void pass_blanks(lexer *lex) {
  for (;;) {
    int c = peek(lex, 0);
    if (c == '/' && peek(lex, 1) == '*')
      block_comment(lex);
    else if (c == '/' && peek(lex, 1) == '/')
      line_comment(lex);
    else if (c == '#')
      directive(lex);
    else if (c >= 0 && (isspace(c) || (c == '\\' && peek(lex, 1) == '\n')))
      step(lex);
    else
      return;
  }
}

/* ---- tokens ---- */

static void number(lexer *lex) {
  token *t = &lex->now;
  int base = 10;
  uint64_t value = 0;
  const char *start = lex->at;
  if (peek(lex, 0) == '0')
    base = (peek(lex, 1) | 32) == 'x' ? 16 : (peek(lex, 1) | 32) == 'b' ? 2 : 8;
  if (base == 16 || base == 2) lex->at += 2;
  const char *digits = lex->at;
  for (int c; (c = peek(lex, 0)) >= 0 && isxdigit(c); lex->at++) {
    int digit = isdigit(c) ? c - '0' : (c | 32) - 'a' + 10;
    if (digit >= base) lex_fail(lex, PG_SYNTAX, "a digit '%c' in a number of base %d", c, base);
    if (value > (UINT64_MAX - (unsigned)digit) / (unsigned)base)
      lex_fail(lex, PG_RANGE, "a number of more than 64 bits");
    value = value * (unsigned)base + (unsigned)digit;
  }
  if (lex->at == digits) lex_fail(lex, PG_SYNTAX, "a number without digits");
  t->is_unsigned = value > INT64_MAX;
  for (int c; (c = peek(lex, 0) | 32) == 'u' || c == 'l'; lex->at++)
    if (c == 'u') t->is_unsigned = true;
  if (peek(lex, 0) == '.' || (peek(lex, 0) >= 0 && isalnum(peek(lex, 0))))
    lex_fail(lex, PG_SYNTAX, "expected an integer");
  t->kind = TOKEN_NUMBER;
  t->value = (int64_t)value;
  t->length = (size_t)(lex->at - start);
}

static int octal(lexer *lex, int value) {
  for (int i = 0; i < 2 && peek(lex, 0) >= '0' && peek(lex, 0) <= '7'; i++)
    value = value * 8 + *lex->at++ - '0';
  return value;
}

static int hexadecimal(lexer *lex) {
  int value = 0;
  for (int c; (c = peek(lex, 0)) >= 0 && isxdigit(c); lex->at++)
    value = (value * 16 + (isdigit(c) ? c - '0' : (c | 32) - 'a' + 10)) & 0xff;
  return value;
}

static int escape(lexer *lex) {
  static const char names[] = "abefnrtv", codes[] = "\a\b\033\f\n\r\t\v";
  int c = peek(lex, 0);
  if (c < 0) return 0;
  lex->at++;
  if (c == 'x') return hexadecimal(lex);
  if (c >= '0' && c <= '7') return octal(lex, c - '0');
  const char *found = strchr(names, c);
  return found && c ? codes[found - names] : c;
}

static void character(lexer *lex) {
  lex->at++;
  int c = peek(lex, 0);
  if (c < 0 || c == '\n' || c == '\'') lex_fail(lex, PG_SYNTAX, "an empty character constant");
  lex->at++;
  lex->now.value = (char)(c == '\\' ? escape(lex) : c);
  if (peek(lex, 0) != '\'') lex_fail(lex, PG_SYNTAX, "a character constant that does not end");
  lex->at++;
  lex->now.kind = TOKEN_NUMBER;
  lex->now.length = (size_t)(lex->at - lex->now.text);
}

static void string(lexer *lex) {
  const char *start = ++lex->at;
  while (peek(lex, 0) != '"') {
    if (peek(lex, 0) < 0 || peek(lex, 0) == '\n')
      lex_fail(lex, PG_SYNTAX, "a string that does not end");
    lex->at += peek(lex, 0) == '\\' && peek(lex, 1) >= 0 ? 2 : 1;
  }
  lex->now.kind = TOKEN_STRING;
  lex->now.text = start;
  lex->now.length = (size_t)(lex->at++ - start);
}

static void symbol(lexer *lex) {
  static const struct {
    char text[3];
    int kind;
  } pairs[] = {{"<<", TOKEN_SHL}, {">>", TOKEN_SHR}, {"<=", TOKEN_LE},  {">=", TOKEN_GE},
               {"==", TOKEN_EQ},  {"!=", TOKEN_NE},  {"&&", TOKEN_AND}, {"||", TOKEN_OR}};
  lex->now.kind = peek(lex, 0);
  if (peek(lex, 0) == '.' && peek(lex, 1) == '.' && peek(lex, 2) == '.') {
    lex->now.kind = TOKEN_DOTS;
    lex->now.length = 3;
  }
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    if (peek(lex, 0) == pairs[i].text[0] && peek(lex, 1) == pairs[i].text[1]) {
      lex->now.kind = pairs[i].kind;
      lex->now.length = 2;
    }
  lex->at += lex->now.length;
}

void lex_next(lexer *lex) {
  pass_blanks(lex);
  lex->now = (token){.kind = TOKEN_END};
  place(lex);
  int c = peek(lex, 0);
  if (c < 0) return;
  if (isdigit(c)) {
    number(lex);
  } else if (isalpha(c) || c == '_') {
    while ((c = peek(lex, 0)) >= 0 && (isalnum(c) || c == '_')) lex->at++;
    lex->now.kind = TOKEN_NAME;
    lex->now.length = (size_t)(lex->at - lex->now.text);
  } else if (c == '\'') {
    character(lex);
  } else if (c == '"') {
    string(lex);
  } else {
    symbol(lex);
  }
}

/* Past the quote that ends what begins here, or to the end of the line. */
static void skip_quoted(lexer *lex) {
  int quote = peek(lex, 0), c;
  for (lex->at++; (c = peek(lex, 0)) >= 0 && c != '\n' && c != quote; lex->at++)
    if (c == '\\' && peek(lex, 1) >= 0 && peek(lex, 1) != '\n') lex->at++;
  if (c == quote) lex->at++;
}

void lex_skip_body(lexer *lex) {
  for (int open = 1, c; open;) {
    c = peek(lex, 0);
    if (c < 0) lex_fail(lex, PG_SYNTAX, "a function's body that does not end");
    if (c == '/' && peek(lex, 1) == '*')
      block_comment(lex);
    else if (c == '/' && peek(lex, 1) == '/')
      line_comment(lex);
    else if (c == '"' || c == '\'')
      skip_quoted(lex);
    else
      open += c == '{' ? 1 : c == '}' ? -1 : 0, step(lex);
  }
  lex_next(lex);
}

void lex_start(lexer *lex, const char *text, size_t length, jmp_buf *out, pg_error *error) {
  *lex = (lexer){
      .at = text, .end = text + length, .line_start = text, .line = 1, .out = out, .error = error};
}
