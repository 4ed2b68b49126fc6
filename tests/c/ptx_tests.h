/* Helpers of the PTX parser's tests. A module returned is freed with ptx_free, a text with free. */
#ifndef PTX_TESTS_H
#define PTX_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/ptx.h"

#define HEADER ".version 9.0\n.target sm_90\n.address_size 64\n" /* lines 1 to 3 */

static inline ptx_module *parse(const char *text) {
  pg_error error;
  ptx_module *module;
  pg_code code = ptx_parse(text, strlen(text), "t.ptx", &module, &error);
  if (code != PG_OK) fail_msg("%s: %s", error.where, error.message);
  return module;
}

/* The module of HEADER followed by `text`. */
static inline ptx_module *parse_after_header(const char *text) {
  size_t bytes = strlen(text) + sizeof HEADER;
  char *all = malloc(bytes);
  assert_non_null(all);
  snprintf(all, bytes, "%s%s", HEADER, text);
  ptx_module *module = parse(all);
  free(all);
  return module;
}

/* The module of a kernel `k` with this body. Line 4 is ".entry k(){", the body starts on line 5. */
static inline ptx_module *parse_body(const char *body) {
  size_t bytes = strlen(body) + 64;
  char *all = malloc(bytes);
  assert_non_null(all);
  snprintf(all, bytes, ".entry k(){\n%s\n}\n", body);
  ptx_module *module = parse_after_header(all);
  free(all);
  return module;
}

static inline const ptx_var *find_var(const ptx_var *vars, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(vars[i].name, name) == 0) return &vars[i];
  fail_msg("no variable %s", name);
  return NULL;
}

static inline const ptx_var *module_var(const ptx_module *module, const char *name) {
  return find_var(module->vars, module->var_count, name);
}

/* The n-th instruction (labels are not counted) of function `k`. */
static inline const ptx_instr *instr_at(const ptx_module *module, int n) {
  const ptx_func *func = ptx_find(module, "k");
  assert_non_null(func);
  for (int i = 0; i < func->instr_count; i++)
    if (func->body[i].opcode && n-- == 0) return &func->body[i];
  fail_msg("the function has fewer instructions");
  return NULL;
}

static inline const ptx_operand *operand_at(const ptx_module *module, int instr, int operand) {
  const ptx_instr *at = instr_at(module, instr);
  assert_true(operand < at->operand_count);
  return &at->operands[operand];
}

static inline char *read_text(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("cannot open %s", path);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);
  assert_non_null(text);
  *bytes = fread(text, 1, (size_t)size, file);
  text[*bytes] = 0;
  fclose(file);
  return text;
}

#endif
