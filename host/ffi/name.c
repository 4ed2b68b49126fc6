/* How a type is spelled in messages and by tostring: as LuaJIT spells it.
 * Grows to both sides from the middle; what does not fit is cut, never overrun. */
#include "types.h"

#include <stdio.h>
#include <string.h>

typedef struct spelling {
  char text[2 * CT_NAME_MAX];
  size_t first, last; /* text[first .. last) */
  bool need_space;
} spelling;

static void append(spelling *s, const char *text) {
  size_t length = strlen(text);
  if (s->last + length > sizeof s->text) return;
  memcpy(s->text + s->last, text, length);
  s->last += length;
}

static void prepend(spelling *s, const char *text) {
  size_t length = strlen(text);
  if (length > s->first) return;
  s->first -= length;
  memcpy(s->text + s->first, text, length);
}

static void prepend_word(spelling *s, const char *word) {
  if (s->need_space) prepend(s, " ");
  prepend(s, word);
  s->need_space = true;
}

static void prepend_quals(spelling *s, unsigned quals) {
  if (quals & CT_VOLATILE) prepend_word(s, "volatile");
  if (quals & CT_CONST) prepend_word(s, "const");
}

static void integer_name(spelling *s, const ctype *type) {
  if (type->size == 1) {
    bool plain = type->is_unsigned == ((char)-1 > 0);
    prepend_word(s, plain ? "char" : type->is_unsigned ? "unsigned char" : "signed char");
  } else if (type->size < 8) {
    prepend_word(s, type->size == 4 ? "int" : "short");
    if (type->is_unsigned) prepend_word(s, "unsigned");
  } else {
    prepend_word(s, type->is_unsigned ? "uint64_t" : "int64_t");
  }
}

static void tag_name(spelling *s, const ctype *type) {
  char number[16];
  snprintf(number, sizeof number, "%u", type->base->id);
  prepend_word(s, type->name ? type->name : number);
  if (type->base->is_word) return;
  prepend_word(s, type->kind == CT_ENUM ? "enum" : type->is_union ? "union" : "struct");
}

static void float_name(spelling *s, const ctype *type) {
  prepend_word(s, type->size == 4 ? "float" : type->size == 8 ? "double" : "long double");
}

/* A pointer to an array or a function needs parentheses. */
static void close_pointer(spelling *s, bool *points) {
  s->need_space = true;
  if (*points) prepend(s, "("), append(s, ")");
  *points = false;
}

static void array_suffix(spelling *s, const ctype *type) {
  char text[32] = "[]";
  if (type->length != CT_NOSIZE) snprintf(text, sizeof text, "[%zu]", type->length);
  append(s, type->is_vla ? "[?]" : text);
}

/* Everything but what ends the chain. */
static const ctype *walk(spelling *s, const ctype *type, bool points) {
  for (;; type = type->child) {
    if (type->kind == CT_PTR) {
      prepend_quals(s, type->quals);
      prepend(s, "*");
      points = s->need_space = true;
    } else if (type->kind == CT_ARRAY) {
      close_pointer(s, &points);
      array_suffix(s, type);
    } else if (type->kind == CT_FUNC) {
      close_pointer(s, &points);
      append(s, "()");
    } else {
      return type;
    }
  }
}

const char *ct_name(const ctype *type, bool reference, char text[CT_NAME_MAX]) {
  spelling s = {.first = CT_NAME_MAX, .last = CT_NAME_MAX};
  if (reference) prepend(&s, "&"), s.need_space = true;
  type = walk(&s, type, reference);
  switch (type->kind) {
  case CT_VOID: prepend_word(&s, "void"); break;
  case CT_BOOL: prepend_word(&s, "bool"); break;
  case CT_INT: integer_name(&s, type); break;
  case CT_FLOAT: float_name(&s, type); break;
  default: tag_name(&s, type);
  }
  prepend_quals(&s, type->quals);
  size_t length = s.last - s.first;
  if (length >= CT_NAME_MAX) length = CT_NAME_MAX - 1;
  memcpy(text, s.text + s.first, length);
  text[length] = 0;
  return text;
}
