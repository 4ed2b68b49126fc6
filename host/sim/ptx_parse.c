/* The PTX parser: module level, and the entry points. */
#include "ptx_parse.h"

#include <stdlib.h>
#include <string.h>

/* --- types -------------------------------------------------------------------------------------
 */

static const struct {
  const char *name;
  uint32_t bytes;
} types[PTX_TYPE_COUNT] = {[PTX_NONE] = {"none", 0},
#define PTX_X(id, spelling, size) [PTX_##id] = {spelling, size},
                           PTX_TYPES(PTX_X)
#undef PTX_X
};

const char *ptx_type_name(ptx_type type) {
  return (unsigned)type < PTX_TYPE_COUNT ? types[type].name : "none";
}

uint32_t ptx_type_bytes(ptx_type type) {
  return (unsigned)type < PTX_TYPE_COUNT ? types[type].bytes : 0;
}

ptx_type ptx_type_parse(const char *name) {
  for (int i = PTX_NONE + 1; i < PTX_TYPE_COUNT; i++)
    if (strcmp(types[i].name, name) == 0) return (ptx_type)i;
  return PTX_NONE;
}

void *ptx_take(ptx_parser *p, ptx_vec *vec, int first, size_t item_bytes) {
  size_t count = (size_t)(vec->count - first);
  vec->count = first;
  if (!count) return NULL;
  return ptx_lex_copy(&p->lex, (char *)vec->items + (size_t)first * item_bytes, count * item_bytes);
}

/* --- module directives -------------------------------------------------------------------------
 */

/* ".version 9.0": the lexer reads a float, the digits matter. */
static void version_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  const char *s = lex->tok.start;
  char *end = NULL;
  if (ptx_lex_is(lex, PTX_TOK_F64)) {
    p->module->version_major = (int)strtol(s, &end, 10);
    p->module->version_minor = *end == '.' ? (int)strtol(end + 1, &end, 10) : 0;
  }
  if (!end || end != lex->tok.end || end - s > 8) ptx_lex_expected(lex, "a version such as 9.0");
  ptx_lex_next(lex);
}

/* ".target sm_90a, debug": the first is the architecture, the others are options. */
static void target_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  if (!ptx_lex_is(lex, PTX_TOK_WORD) || lex->tok.sym->length >= sizeof p->module->target ||
      (strncmp(lex->tok.sym->name, "sm_", 3) && strncmp(lex->tok.sym->name, "compute_", 8)))
    ptx_lex_expected(lex, "a target such as sm_90");
  memcpy(p->module->target, lex->tok.sym->name, lex->tok.sym->length + 1);
  ptx_lex_next(lex);
  while (ptx_lex_accept(lex, ',')) ptx_name(p, "an option of the target");
}

static void address_size_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  ptx_pos pos = ptx_lex_pos(lex);
  if (ptx_small(p, "an address size", 64) != 64)
    ptx_lex_fail(lex, pos, "only 64-bit addresses are supported");
}

/* ".section .debug_str { ... }": DWARF, which the simulator does not read. */
static void section_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  if (!ptx_lex_is(lex, PTX_TOK_DIRECTIVE)) ptx_lex_expected(lex, "the name of a section");
  while (ptx_lex_is(lex, PTX_TOK_DIRECTIVE) || ptx_lex_is(lex, PTX_TOK_WORD)) ptx_lex_next(lex);
  if (ptx_lex_accept(lex, ',')) ptx_lex_expect(lex, PTX_TOK_STRING, "the flags of a section");
  if (!ptx_lex_is(lex, '{')) ptx_lex_expected(lex, "`{`");
  ptx_lex_skip_block(lex);
}

static void alias_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_alias alias = {.pos = ptx_lex_pos(lex)};
  ptx_lex_next(lex);
  alias.name = ptx_name(p, "a function");
  ptx_lex_expect(lex, ',', "`,`");
  alias.target = ptx_name(p, "a function");
  ptx_lex_expect(lex, ';', "`;`");
  *PTX_PUSH(p, &p->aliases, ptx_alias) = alias;
}

static bool is_linkage(const ptx_lex *lex) {
  return ptx_lex_word(lex, PTX_WORD_EXTERN) || ptx_lex_word(lex, PTX_WORD_VISIBLE) ||
         ptx_lex_word(lex, PTX_WORD_WEAK) || ptx_lex_word(lex, PTX_WORD_COMMON);
}

static void declaration(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  bool is_extern = false;
  for (; is_linkage(lex); ptx_lex_next(lex)) is_extern |= ptx_lex_word(lex, PTX_WORD_EXTERN);
  ptx_word word = ptx_lex_is(lex, PTX_TOK_DIRECTIVE) ? (ptx_word)lex->tok.sym->word : PTX_NO_WORD;
  static const ptx_space spaces[] = {[PTX_WORD_CONST] = PTX_CONST,
                                     [PTX_WORD_GLOBAL] = PTX_GLOBAL,
                                     [PTX_WORD_LOCAL] = PTX_LOCAL,
                                     [PTX_WORD_SHARED] = PTX_SHARED};
  switch (word) {
  case PTX_WORD_ENTRY:
  case PTX_WORD_FUNC:
    ptx_lex_next(lex);
    ptx_function(p, word == PTX_WORD_ENTRY);
    break;
  case PTX_WORD_CONST:
  case PTX_WORD_GLOBAL:
  case PTX_WORD_SHARED:
    ptx_lex_next(lex);
    ptx_variables(p, spaces[word], is_extern);
    break;
  default: ptx_lex_expected(lex, "a directive of a module (.entry, .func, .global, ...)");
  }
}

static void module_item(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  switch (ptx_lex_is(lex, PTX_TOK_DIRECTIVE) ? lex->tok.sym->word : PTX_NO_WORD) {
  case PTX_WORD_VERSION: version_directive(p); break;
  case PTX_WORD_TARGET: target_directive(p); break;
  case PTX_WORD_ADDRESS_SIZE: address_size_directive(p); break;
  case PTX_WORD_FILE: ptx_file_directive(p); break;
  case PTX_WORD_LOC: ptx_loc_directive(p); break;
  case PTX_WORD_SECTION: section_directive(p); break;
  case PTX_WORD_PRAGMA: ptx_pragma(p); break;
  case PTX_WORD_ALIAS: alias_directive(p); break;
  default:
    if (!ptx_lex_accept(lex, ';')) declaration(p); /* nvcc ends a declaration with an extra ";" */
  }
}

static void parse_module(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_start(lex);
  if (!ptx_lex_word(lex, PTX_WORD_VERSION)) ptx_lex_expected(lex, ".version, which opens a module");
  while (!ptx_lex_is(lex, PTX_TOK_END)) module_item(p);
  ptx_pos end = ptx_lex_pos(lex);
  if (!p->module->target[0]) ptx_lex_fail(lex, end, "the module has no .target");
  ptx_resolve_late(p);
  ptx_apply_aliases(p);
  ptx_name_places(p);
  p->module->address_size = 64;
  p->module->var_count = p->vars.count;
  p->module->vars = ptx_take(p, &p->vars, 0, sizeof(ptx_var));
  p->module->func_count = p->funcs.count;
  p->module->funcs = ptx_take(p, &p->funcs, 0, sizeof(ptx_func));
}

/* --- entry points ------------------------------------------------------------------------------
 */

static void free_parser(ptx_parser *p) {
  ptx_vec *vecs[] = {&p->vars,    &p->funcs,    &p->late,   &p->aliases, &p->files,
                     &p->relocs,  &p->regs,     &p->locals, &p->body,    &p->targets,
                     &p->pending, &p->operands, &p->names};
  for (size_t i = 0; i < sizeof vecs / sizeof *vecs; i++) ptx_vec_free(vecs[i]);
  ptx_symbols_free(&p->lex.symbols);
  ptx_arena_free(&p->scratch);
  free(p);
}

static void free_arena(ptx_arena *arena) {
  if (arena) ptx_arena_free(arena);
  free(arena);
}

pg_code ptx_parse(const char *text, size_t bytes, const char *name, ptx_module **out,
                  pg_error *error) {
  *out = NULL;
  if (bytes > PTX_TEXT_MAX) {
    pg_fail(error, PG_MEMORY, "the PTX text exceeds 64 MiB");
    return pg_where(error, "%s", name);
  }
  ptx_parser *p = calloc(1, sizeof *p);
  ptx_arena *arena = calloc(1, sizeof *arena);
  ptx_module *module = arena ? ptx_arena_alloc(arena, sizeof *module) : NULL;
  if (!p || !module) {
    free(p);
    free_arena(arena);
    return pg_fail(error, PG_MEMORY, "not enough memory to parse PTX");
  }
  module->arena = arena;
  p->module = module;
  p->lex.text = text;
  p->lex.end = text + bytes;
  p->lex.name = name;
  p->lex.arena = p->lex.symbols.arena = arena;
  p->lex.error = error;
  pg_code code = PG_OK;
  if (setjmp(p->lex.env) == 0)
    parse_module(p);
  else
    code = p->lex.code;
  free_parser(p);
  if (code == PG_OK)
    *out = module;
  else
    ptx_free(module);
  return code;
}

void ptx_free(ptx_module *module) {
  if (module) free_arena(module->arena);
}

const ptx_func *ptx_find(const ptx_module *module, const char *name) {
  for (int i = 0; i < module->func_count; i++)
    if (strcmp(module->funcs[i].name, name) == 0) return &module->funcs[i];
  return NULL;
}
