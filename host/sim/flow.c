/* The value of each register in a function, by data flow without order: the join over all its
 * definitions, repeated until nothing changes. */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "lower.h"

const char FLOW_ANY[] = "any";

static const int PASSES_MAX = 16; /* text from compilers needs two or three */

/* What an instruction's sources say together. */
typedef struct sources {
  const ptx_func *func;
  const flow_value *values;
  flow_value sum;
} sources;

static void join_symbol(const char **into, const char *symbol) {
  if (symbol && *into && *into != symbol) symbol = FLOW_ANY;
  if (symbol) *into = symbol;
}

static void join(flow_value *into, const flow_value *from) {
  into->depends |= from->depends;
  if (!into->of) into->of = from->of;
  join_symbol(&into->symbol, from->symbol);
}

/* ---- sources ---- */

static bool starts(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

bool flow_is_shape(const char *name) {
  return starts(name, "%nctaid") || starts(name, "%ntid") || starts(name, "%dynamic_smem") ||
         starts(name, "%total_smem") || strcmp(name, "WARP_SZ") == 0;
}

static bool is_parameter(const ptx_func *func, const char *name) {
  if (!func->is_entry) return false;
  for (int i = 0; i < func->param_count; i++)
    if (func->params[i].name == name) return true;
  return false;
}

static void add_named(sources *s, const ptx_operand *o) {
  flow_value value = {0};
  if (o->kind == PTX_OP_SYMBOL) {
    value.symbol = o->name;
  } else if (strcmp(o->name, "WARP_SZ")) { /* which is a constant */
    value.depends = flow_is_shape(o->name) ? FLOW_SIZE : FLOW_VARIES;
    value.of = value.depends == FLOW_SIZE ? o->name : NULL;
  }
  join(&s->sum, &value);
}

static void add_operand(sources *s, const ptx_operand *o) {
  if (o->kind == PTX_OP_SYMBOL || o->kind == PTX_OP_SPECIAL) add_named(s, o);
  for (int i = 0; i < o->count; i++) add_operand(s, &o->items[i]);
}

static void add_register(void *context, int reg, bool write) {
  sources *s = context;
  if (!write) join(&s->sum, &s->values[reg]);
}

const char *flow_parameter(const ptx_func *func, const ptx_instr *i) {
  if (!i->opcode || strcmp(i->opcode, "ld") || i->mod_count < 1 || !starts(i->mods[0], "param"))
    return NULL;
  if (i->operand_count != 2 || i->operands[1].kind != PTX_OP_ADDRESS) return NULL;
  const ptx_operand *base = &i->operands[1].items[0];
  return base->kind == PTX_OP_SYMBOL && is_parameter(func, base->name) ? base->name : NULL;
}

/* Opcodes whose result comes from memory, from other lanes or from elsewhere. */
static bool is_opaque(const ptx_instr *i) {
  static const char *const opaque[] = {"ld",    "ldu",   "atom",     "call",       "tex",
                                       "tld4",  "suld",  "sured",    "shfl",       "vote",
                                       "match", "redux", "ldmatrix", "activemask", "mbarrier",
                                       "elect", "wmma",  "mma",      "bar",        "barrier"};
  for (size_t k = 0; k < sizeof opaque / sizeof *opaque; k++)
    if (strcmp(i->opcode, opaque[k]) == 0) return true;
  return false;
}

/* ---- one instruction ---- */

static bool is_copy(const ptx_instr *i) {
  return strcmp(i->opcode, "mov") == 0 || strcmp(i->opcode, "cvt") == 0 ||
         strcmp(i->opcode, "cvta") == 0;
}

static flow_value of_copy(const ptx_instr *i, const flow_value *values) {
  flow_value out = {0};
  const ptx_operand *o = i->operand_count == 2 ? &i->operands[1] : NULL;
  if (!o || i->guard >= 0) return out;
  if (o->kind == PTX_OP_INT) out.is_constant = true, out.constant = (int64_t)o->bits;
  if (o->kind != PTX_OP_REG) return out;
  const flow_value *from = &values[o->reg];
  out.is_constant = from->is_constant && from->definitions == 1;
  out.constant = from->constant;
  return out;
}

static flow_value value_of(const ptx_func *func, const ptx_instr *i, const flow_value *values) {
  const char *parameter = flow_parameter(func, i);
  if (parameter) return (flow_value){.depends = FLOW_SIZE, .of = parameter};
  bool lanes = strcmp(i->opcode, "shfl") == 0; /* which hands on the same register */
  if (is_opaque(i) && !lanes) return (flow_value){.depends = FLOW_VARIES};
  flow_value copy = is_copy(i) ? of_copy(i, values) : (flow_value){0};
  sources s = {.func = func, .values = values, .sum = copy};
  lower_registers(i, add_register, &s);
  for (int k = 1; k < i->operand_count; k++) add_operand(&s, &i->operands[k]);
  if (lanes) s.sum.depends |= FLOW_VARIES;
  return s.sum;
}

typedef struct pass {
  flow_value *values;
  flow_value value;
  int at;
  bool first, changed;
} pass;

static void define(void *context, int reg, bool write) {
  pass *p = context;
  if (!write) return;
  flow_value *into = &p->values[reg], before = *into;
  join(into, &p->value);
  if (p->first && into->definitions < 2) into->definitions++;
  if (into->definitions > 1) into->depends |= FLOW_SEVERAL;
  into->definition = p->at;
  bool alone = into->definitions == 1;
  into->is_constant = alone && p->value.is_constant;
  into->constant = p->value.constant;
  p->changed |= before.depends != into->depends || before.of != into->of ||
                before.symbol != into->symbol || before.is_constant != into->is_constant;
}

flow_value *flow_values(const ptx_func *func) {
  pass p = {.values = calloc((size_t)func->reg_count + 1, sizeof *p.values)};
  if (!p.values) return NULL;
  p.changed = true;
  for (int round = 0; p.changed && round < PASSES_MAX; round++) {
    p.first = round == 0;
    p.changed = false;
    for (int k = 0; k < func->instr_count; k++) {
      const ptx_instr *i = &func->body[k];
      if (!i->opcode) continue;
      p.at = k;
      p.value = value_of(func, i, p.values);
      lower_registers(i, define, &p);
    }
  }
  return p.values;
}

/* ---- memory ---- */

static bool has_mod(const ptx_instr *i, const char *start) {
  for (int k = 0; k < i->mod_count; k++)
    if (starts(i->mods[k], start)) return true;
  return false;
}

static bool calls(const ptx_instr *i, const char *name) {
  for (int k = 0; strcmp(i->opcode, "call") == 0 && k < i->operand_count; k++)
    if (i->operands[k].kind == PTX_OP_SYMBOL && strcmp(i->operands[k].name, name) == 0) return true;
  return false;
}

bool flow_fails(const ptx_instr *i) {
  return i->opcode && (strcmp(i->opcode, "trap") == 0 || calls(i, "__assertfail"));
}

bool flow_stores(const ptx_instr *i) {
  if (!i->opcode || flow_fails(i) || calls(i, "vprintf")) return false;
  static const char *const writers[] = {"st", "atom", "red", "sust", "sured", "call"};
  bool writes = strcmp(i->opcode, "wmma") == 0 && has_mod(i, "store");
  for (size_t k = 0; k < sizeof writers / sizeof *writers; k++)
    writes |= strcmp(i->opcode, writers[k]) == 0;
  if (writes) return !has_mod(i, "shared") && !has_mod(i, "local") && !has_mod(i, "param");
  /* cp.async.bulk.global.shared::cta and cp.reduce.async.bulk: the destination comes first. */
  if (strcmp(i->opcode, "cp")) return false;
  for (int k = 0; k < i->mod_count; k++) {
    if (starts(i->mods[k], "shared")) return false;
    if (starts(i->mods[k], "global")) return true;
  }
  return false;
}

const char *flow_target(const ptx_instr *i, const flow_value *values) {
  const char *target = NULL;
  for (int k = 0; k < i->operand_count; k++) {
    const ptx_operand *o = &i->operands[k];
    if (o->kind != PTX_OP_ADDRESS) continue;
    const ptx_operand *base = &o->items[0];
    if (base->kind == PTX_OP_SYMBOL) join_symbol(&target, base->name);
    if (base->kind == PTX_OP_REG) join_symbol(&target, values[base->reg].symbol);
  }
  return target;
}

static void join_symbols(const ptx_operand *o, const flow_value *values, const char **into) {
  if (o->kind == PTX_OP_ADDRESS) return;
  if (o->kind == PTX_OP_REG) join_symbol(into, values[o->reg].symbol);
  for (int k = 0; k < o->count; k++) join_symbols(&o->items[k], values, into);
}

const char *flow_escape(const ptx_instr *i, const flow_value *values) {
  static const char *const opcodes[] = {"st", "atom", "red", "call"};
  const char *symbol = NULL;
  bool hands_on = false;
  for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++)
    hands_on |= strcmp(i->opcode, opcodes[k]) == 0;
  for (int k = 0; hands_on && k < i->operand_count; k++) {
    const ptx_operand *o = &i->operands[k];
    join_symbols(o, values, &symbol);
    if (o->kind == PTX_OP_SYMBOL && strcmp(i->opcode, "call")) join_symbol(&symbol, o->name);
  }
  return symbol;
}
