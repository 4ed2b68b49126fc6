/* Declarations of PTX: variables in every state space, formal parameters, registers. */
#include "ptx_parse.h"

#include <string.h>

enum { ALIGN_MAX = 1 << 16 };
static const uint64_t SIZE_LIMIT = (uint64_t)1 << 40; /* bytes of one variable */

ptx_sym *ptx_name(ptx_parser *p, const char *what) {
  ptx_lex *lex = &p->lex;
  if (!ptx_lex_is(lex, PTX_TOK_WORD)) ptx_lex_expected(lex, what);
  ptx_sym *sym = lex->tok.sym;
  if (memchr(sym->name, '.', sym->length) || memchr(sym->name, ':', sym->length))
    ptx_lex_expected(lex, what);
  ptx_lex_next(lex);
  return sym;
}

void ptx_skip_parentheses(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_pos open = ptx_lex_pos(lex);
  ptx_lex_expect(lex, '(', "`(`");
  for (int depth = 1; depth > 0; ptx_lex_next(lex)) {
    if (ptx_lex_is(lex, PTX_TOK_END)) ptx_lex_fail(lex, open, "a `(` is never closed");
    depth += ptx_lex_is(lex, '(') - ptx_lex_is(lex, ')');
  }
}

static uint32_t alignment(ptx_parser *p) {
  ptx_pos pos = ptx_lex_pos(&p->lex);
  uint64_t align = ptx_small(p, "an alignment", ALIGN_MAX);
  if (!align || (align & (align - 1)))
    ptx_lex_fail(&p->lex, pos, "an alignment must be a power of two, got %llu",
                 (unsigned long long)align);
  return (uint32_t)align;
}

static bool is_space(ptx_word word) {
  return word == PTX_WORD_GLOBAL || word == PTX_WORD_SHARED || word == PTX_WORD_CONST ||
         word == PTX_WORD_LOCAL || word == PTX_WORD_PARAM;
}

/* One directive before a name. `.ptr .global .align 4` describes what a pointer parameter points
 * to. */
static void head_directive(ptx_parser *p, ptx_head *head) {
  ptx_lex *lex = &p->lex;
  ptx_sym *sym = lex->tok.sym;
  ptx_word word = (ptx_word)sym->word;
  if (word == PTX_WORD_ALIGN) {
    ptx_lex_next(lex);
    uint32_t align = alignment(p);
    if (!head->is_pointer) head->align = align;
  } else if (word == PTX_WORD_ATTRIBUTE) {
    ptx_lex_next(lex);
    ptx_skip_parentheses(p);
  } else if (sym->type && !head->type) {
    head->type = (ptx_type)sym->type;
    ptx_lex_next(lex);
  } else if (word == PTX_WORD_V2 || word == PTX_WORD_V4 || word == PTX_WORD_V8) {
    head->vector = 2 << (word - PTX_WORD_V2);
    ptx_lex_next(lex);
  } else if (word == PTX_WORD_PTR && head->space == PTX_PARAM) {
    head->is_pointer = true;
    ptx_lex_next(lex);
  } else if (head->is_pointer && is_space(word)) {
    ptx_lex_next(lex);
  } else {
    ptx_lex_expected(lex, "a type or .align");
  }
}

static ptx_head parse_head(ptx_parser *p, ptx_space space) {
  ptx_head head = {.space = space, .vector = 1};
  while (ptx_lex_is(&p->lex, PTX_TOK_DIRECTIVE)) head_directive(p, &head);
  if (!head.type) ptx_lex_expected(&p->lex, "a type");
  if (head.type == PTX_PRED && space != PTX_REG)
    ptx_lex_fail(&p->lex, ptx_lex_pos(&p->lex), "a predicate cannot be in memory");
  return head;
}

/* "[4][3]" behind a name; the components of a vector type are the innermost dimension. */
static ptx_shape parse_shape(ptx_parser *p, const ptx_head *head) {
  ptx_shape shape = {.count = 0};
  ptx_lex *lex = &p->lex;
  while (ptx_lex_is(lex, '[')) {
    if (shape.count == PTX_DIMENSION_MAX)
      ptx_lex_fail(lex, ptx_lex_pos(lex), "an array has at most %d dimensions", PTX_DIMENSION_MAX);
    ptx_lex_next(lex);
    uint64_t extent = 0;
    if (!ptx_lex_is(lex, ']')) {
      ptx_pos pos = ptx_lex_pos(lex);
      ptx_const value = ptx_constant(p);
      extent = value.bits;
      if (value.kind != PTX_OP_INT || !extent || extent > SIZE_LIMIT)
        ptx_lex_fail(lex, pos, "the size of an array must be 1 to 2^40");
    } else if (shape.count) {
      ptx_lex_fail(lex, ptx_lex_pos(lex), "only the first dimension of an array can be open");
    }
    shape.extent[shape.count++] = extent;
    ptx_lex_expect(lex, ']', "`]`");
  }
  if (head->vector > 1) shape.extent[shape.count++] = (uint64_t)head->vector;
  return shape;
}

static uint64_t count_elements(ptx_parser *p, const ptx_shape *shape, ptx_type type, ptx_pos pos) {
  uint64_t count = 1;
  for (int i = 0; i < shape->count; i++) {
    if (shape->extent[i] && count > SIZE_LIMIT / shape->extent[i] / ptx_type_bytes(type))
      ptx_lex_fail(&p->lex, pos, "a variable is larger than 2^40 bytes");
    count *= shape->extent[i];
  }
  return count;
}

static ptx_var parse_declarator(ptx_parser *p, const ptx_head *head, ptx_sym **sym,
                                ptx_shape *shape) {
  ptx_pos pos = ptx_lex_pos(&p->lex);
  *sym = ptx_name(p, "a name");
  *shape = parse_shape(p, head);
  uint32_t natural = ptx_type_bytes(head->type) * (uint32_t)head->vector;
  return (ptx_var){.name = (*sym)->name,
                   .space = head->space,
                   .type = head->type,
                   .align = head->align > natural ? head->align : natural,
                   .count = count_elements(p, shape, head->type, pos),
                   .is_array = shape->count > 0,
                   .is_pointer = head->is_pointer,
                   .is_extern = head->is_extern,
                   .line = pos.line};
}

/* A module's variable may be declared .extern first and defined later, or declared again. */
static void add_global(ptx_parser *p, ptx_sym *sym, ptx_var var, ptx_pos pos) {
  if (sym->global == PTX_GLOBAL_VAR) {
    ptx_var *known = PTX_AT(&p->vars, ptx_var, sym->global_index);
    if (!known->is_extern && !var.is_extern)
      ptx_lex_fail(&p->lex, pos, "`%s` is declared twice", sym->name);
    if (known->is_extern) *known = var;
    return;
  }
  if (sym->global) ptx_lex_fail(&p->lex, pos, "`%s` is already a function", sym->name);
  ptx_declare_global(sym, PTX_GLOBAL_VAR, p->vars.count);
  *PTX_PUSH(p, &p->vars, ptx_var) = var;
}

/* In a function: .local, .shared and .param are its own; .global and .const live in the module,
 * where two functions may use one name. */
static void add_local(ptx_parser *p, ptx_sym *sym, ptx_var var, ptx_pos pos) {
  bool in_module = var.space == PTX_GLOBAL || var.space == PTX_CONST;
  ptx_vec *vars = in_module ? &p->vars : &p->locals;
  ptx_binding *binding = ptx_bind(p, PTX_BIND_VAR, sym, pos, vars->count);
  if (in_module) {
    ptx_sym *unique = ptx_suffixed(p, sym, vars->count);
    ptx_declare_global(unique, PTX_GLOBAL_VAR, vars->count);
    binding->name = unique->name;
  }
  var.name = binding->name;
  *PTX_PUSH(p, vars, ptx_var) = var;
}

static bool can_initialise(ptx_space space) {
  return space == PTX_GLOBAL || space == PTX_CONST;
}

void ptx_variables(ptx_parser *p, ptx_space space, bool is_extern) {
  ptx_lex *lex = &p->lex;
  ptx_head head = parse_head(p, space);
  head.is_extern = is_extern;
  do {
    ptx_sym *sym;
    ptx_shape shape;
    ptx_pos pos = ptx_lex_pos(lex);
    ptx_var var = parse_declarator(p, &head, &sym, &shape);
    if (ptx_lex_is(lex, '=')) {
      if (!can_initialise(space))
        ptx_lex_fail(lex, ptx_lex_pos(lex),
                     "only .global and .const variables have initial values");
      ptx_lex_next(lex);
      ptx_initialiser(p, &var, &shape);
    } else if (!var.count && !is_extern) {
      ptx_lex_fail(lex, pos, "the size of `%s` is missing", sym->name);
    }
    if (p->depth)
      add_local(p, sym, var, pos);
    else
      add_global(p, sym, var, pos);
  } while (ptx_lex_accept(lex, ','));
  ptx_lex_expect(lex, ';', "`,` or `;`");
}

static ptx_var parse_formal(ptx_parser *p, bool bind) {
  ptx_lex *lex = &p->lex;
  bool is_reg = ptx_lex_word(lex, PTX_WORD_REG);
  if (!is_reg && !ptx_lex_word(lex, PTX_WORD_PARAM)) ptx_lex_expected(lex, ".param or .reg");
  ptx_lex_next(lex);
  ptx_head head = parse_head(p, is_reg ? PTX_REG : PTX_PARAM);
  ptx_sym *sym;
  ptx_shape shape;
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_var var = parse_declarator(p, &head, &sym, &shape);
  if (is_reg && var.is_array) ptx_lex_fail(lex, pos, "a register cannot be an array");
  if (!bind) return var;
  if (is_reg)
    ptx_bind_register(p, sym, pos, head.type);
  else
    var.name = ptx_bind(p, PTX_BIND_VAR, sym, pos, -1)->name;
  return var;
}

ptx_var *ptx_formals(ptx_parser *p, int *count, bool bind) {
  ptx_lex *lex = &p->lex;
  ptx_lex_expect(lex, '(', "`(`");
  int first = p->locals.count; /* the locals of a body come later */
  while (!ptx_lex_is(lex, ')')) {
    *PTX_PUSH(p, &p->locals, ptx_var) = parse_formal(p, bind);
    if (!ptx_lex_accept(lex, ',')) break;
  }
  ptx_lex_expect(lex, ')', "`,` or `)`");
  *count = p->locals.count - first;
  return ptx_take(p, &p->locals, first, sizeof(ptx_var));
}

void ptx_registers(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_head head = parse_head(p, PTX_REG);
  if (head.vector > 1)
    ptx_lex_fail(lex, ptx_lex_pos(lex), "registers of vector type are not supported");
  do {
    ptx_pos pos = ptx_lex_pos(lex);
    ptx_sym *sym = ptx_name(p, "a register name");
    if (ptx_lex_accept(lex, '<')) {
      ptx_bind_range(p, sym, pos, head.type, ptx_small(p, "a register count", UINT32_MAX));
      ptx_lex_expect(lex, '>', "`>`");
    } else {
      ptx_bind_register(p, sym, pos, head.type);
    }
  } while (ptx_lex_accept(lex, ','));
  ptx_lex_expect(lex, ';', "`,` or `;`");
}
