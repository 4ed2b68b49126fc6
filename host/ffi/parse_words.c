/* The words that declarations are made of: keywords in all their spellings, names of types.
 * __const__, __const and const are one word. */
#include "parse.h"

#include <string.h>

static const struct {
  const char *name;
  enum word word;
} WORDS[] = {
    {"const", WORD_CONST},
    {"volatile", WORD_VOLATILE},
    {"restrict", WORD_NOTHING},
    {"extension", WORD_NOTHING},
    {"inline", WORD_NOTHING},
    {"register", WORD_NOTHING},
    {"auto", WORD_NOTHING},
    {"_Noreturn", WORD_NOTHING},
    {"_Thread_local", WORD_REFUSED},
    {"thread", WORD_REFUSED},
    {"typedef", WORD_TYPEDEF},
    {"extern", WORD_EXTERN},
    {"static", WORD_STATIC},
    {"void", WORD_VOID},
    {"_Bool", WORD_BOOL},
    {"bool", WORD_BOOL},
    {"char", WORD_CHAR},
    {"short", WORD_SHORT},
    {"int", WORD_INT},
    {"long", WORD_LONG},
    {"float", WORD_FLOAT},
    {"double", WORD_DOUBLE},
    {"signed", WORD_SIGNED},
    {"unsigned", WORD_UNSIGNED},
    {"struct", WORD_TAGGED},
    {"union", WORD_TAGGED},
    {"enum", WORD_TAGGED},
    {"attribute", WORD_ATTRIBUTE},
    {"_Alignas", WORD_ALIGNAS},
    {"asm", WORD_ASM},
    {"_Complex", WORD_COMPLEX},
    {"complex", WORD_COMPLEX},
    {"_Float32", WORD_FLOAT},
    {"_Float64", WORD_DOUBLE},
    {"_Float32x", WORD_DOUBLE},
    {"_Float64x", WORD_LDOUBLE},
    {"int8", WORD_SIZED},
    {"int16", WORD_SIZED},
    {"int32", WORD_SIZED},
    {"int64", WORD_SIZED},
    {"int128", WORD_SIZED},
    {"_Float128", WORD_FLOAT128},
    {"float128", WORD_FLOAT128},
    {"_Atomic", WORD_REFUSED},
    {"cdecl", WORD_NOTHING},
};

/* Words that are reserved only between underscores: __thread, __int8, __attribute__. */
static bool needs_underscores(enum word word, const char *name) {
  return word == WORD_ATTRIBUTE || word == WORD_SIZED || strcmp(name, "extension") == 0 ||
         strcmp(name, "thread") == 0 || strcmp(name, "float128") == 0 || strcmp(name, "cdecl") == 0;
}

/* __name__ and __name are name. */
bool parse_strip(const char **text, size_t *length) {
  if (*length < 3 || memcmp(*text, "__", 2) != 0) return false;
  *text += 2, *length -= 2;
  if (*length > 2 && memcmp(*text + *length - 2, "__", 2) == 0) *length -= 2;
  return true;
}

bool parse_same(const char *text, size_t length, const char *word) {
  return strlen(word) == length && memcmp(text, word, length) == 0;
}

enum word parse_word(const parser *p) {
  const token *t = &p->lex.now;
  if (t->kind != TOKEN_NAME) return 0;
  const char *text = t->text;
  size_t length = t->length;
  bool underscored = parse_strip(&text, &length);
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
    if (parse_same(text, length, WORDS[i].name))
      return underscored || !needs_underscores(WORDS[i].word, WORDS[i].name) ? WORDS[i].word : 0;
  return 0;
}

const ct_symbol *parse_typedef(const parser *p) {
  const token *t = &p->lex.now;
  if (t->kind != TOKEN_NAME) return NULL;
  const ct_symbol *symbol = ct_find(p->table, t->text, t->length, false);
  return symbol && symbol->kind == CT_TYPEDEF ? symbol : NULL;
}

/* A `$` begins a type when its argument is one. */
bool parse_gives_type(const parser *p) {
  return p->lex.now.kind == '$' && p->arg_used < p->arg_count &&
         p->args[p->arg_used].kind == CT_ARG_TYPE;
}

bool parse_starts_type(parser *p) {
  enum word word = parse_word(p);
  return (word && word != WORD_ASM) || parse_typedef(p) || parse_gives_type(p);
}

const char *parse_name(parser *p) {
  const token *t = &p->lex.now;
  if (p->lex.now.kind == '$' && p->arg_used < p->arg_count &&
      p->args[p->arg_used].kind == CT_ARG_NAME)
    return parse_argument(p)->name;
  if (t->kind != TOKEN_NAME || parse_word(p)) return NULL;
  const char *name = ct_string(p->table, t->text, t->length);
  lex_next(&p->lex);
  return parse_need(p, (void *)name);
}
