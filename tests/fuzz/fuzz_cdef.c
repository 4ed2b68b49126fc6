/* libFuzzer target of the parser of C declarations: any bytes give types that keep their promises,
 * or a clear error. The seeds are declarations as headers have them. */
#include "ffi/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz_cdef: %s\n", what);
  abort();
}

static void check_members(const ctype *type) {
  for (uint32_t i = 0; i < type->count; i++) {
    const ct_field *field = &type->fields[i];
    size_t size = field->type->base->size, offset;
    if (field->bits || field->value) size = (size_t)(field->bit + field->bits + 7) / 8;
    if (size == CT_NOSIZE) size = 0;
    require(field->offset + size <= type->size, "a member outside its struct");
    if (!field->name) continue;
    require(ct_member(type, field->name, &offset) != NULL, "a member without a place");
  }
}

static void check_type(const ctype *type) {
  char name[CT_NAME_MAX];
  require(strlen(ct_name(type, false, name)) < CT_NAME_MAX, "a name that is too long");
  require(type->base && !type->base->quals, "a base with qualifiers");
  require(type->align && !(type->align & (type->align - 1)),
          "an alignment that is no power of two");
  if (type->kind == CT_STRUCT && type == type->base && type->size != CT_NOSIZE) {
    require(type->size % type->align == 0, "a size that is no multiple of the alignment");
    check_members(type);
  }
  if (type->kind == CT_ARRAY && type->length != CT_NOSIZE)
    require(type->size == type->length * type->child->base->size, "an array's size");
}

static void check_error(const pg_error *error, pg_code code) {
  require(error->code == code && code != PG_INTERNAL, "the code");
  require(strncmp(error->message, "C declaration, line ", 20) == 0, "the error's text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  char *text = malloc(bytes ? bytes : 1); /* of exactly this size, so that reading on is seen */
  ct_table *table = ct_table_new();
  if (!text || !table || bytes > 1 << 16) goto out;
  if (bytes) memcpy(text, data, bytes);
  ct_argument args[2] = {{.kind = CT_ARG_NUMBER, .number = 3}, {.kind = CT_ARG_NAME, .name = "n"}};
  pg_error error = {0};
  ctype *type;
  int count = bytes && data[0] == '$' ? 2 : 0;
  pg_code code = ct_declare_text(table, text, bytes, args, count, &error);
  if (code) check_error(&error, code);
  code = ct_parse_type(table, text, bytes, NULL, 0, &type, &error);
  require(code ? !type : type != NULL, "a type or an error");
  if (code) check_error(&error, code);
  for (uint32_t i = 0; i < ct_count(table); i++) check_type(ct_get(table, i));
out:
  ct_table_free(table);
  free(text);
  return 0;
}
