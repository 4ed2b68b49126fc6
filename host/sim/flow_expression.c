/* A value as an expression of a kernel's parameters, so that it can be worked out for given ones:
 * definitions are followed back through integer arithmetic. */
#include <string.h>

#include "flow_walk.h"

typedef struct builder {
  flow_walk *walk;
  const flow_value *values;
  flow_node *nodes;
  int count, depth;
} builder;

enum { DEPTH_MAX = 12 };

static int build(builder *b, const ptx_operand *o, int at);

static int add_node(builder *b, flow_node node) {
  if (b->count == FLOW_NODES_MAX) return -1;
  b->nodes[b->count] = node;
  return b->count++;
}

/* Bits and sign of a type; false for one that is no integer. */
static bool integer_type(const char *name, flow_node *node) {
  ptx_type type = ptx_type_parse(name);
  if (!strchr("usb", *name) || type == PTX_NONE || type == PTX_B128) return false;
  node->bits = (int)(8 * ptx_type_bytes(type));
  node->is_signed = *name == 's';
  return node->bits > 0;
}

/* What an instruction makes of its operands. A conversion keeps what both types can hold; one to a
 * float changes no size. */
static bool result_type(const ptx_instr *i, flow_node *node) {
  if (i->mod_count < 1 || !integer_type(i->mods[i->mod_count - 1], node)) return false;
  flow_node to = {0};
  if (!flow_is(i, "cvt") || i->mod_count < 2) return true;
  if (integer_type(i->mods[i->mod_count - 2], &to) && to.bits < node->bits) {
    node->bits = to.bits;
    node->is_signed = to.is_signed;
  }
  return true;
}

static bool has_mod(const ptx_instr *i, const char *name) {
  for (int k = 0; k < i->mod_count; k++)
    if (strcmp(i->mods[k], name) == 0) return true;
  return false;
}

/* The operation of an instruction and how many operands it has; NULL for one that is not known. */
static const char *operation(const ptx_instr *i, int *operands) {
  static const struct {
    const char *opcode, *op;
    int operands;
  } known[] = {{"mov", "copy", 1}, {"cvt", "copy", 1}, {"cvta", "copy", 1}, {"neg", "neg", 1},
               {"not", "not", 1},  {"add", "add", 2},  {"sub", "sub", 2},   {"mul", "mul", 2},
               {"mad", "mad", 3},  {"div", "div", 2},  {"rem", "rem", 2},   {"shl", "shl", 2},
               {"shr", "shr", 2},  {"and", "and", 2},  {"or", "or", 2},     {"xor", "xor", 2},
               {"min", "min", 2},  {"max", "max", 2}};
  if (has_mod(i, "hi") || has_mod(i, "sat") || has_mod(i, "cc")) return NULL;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    if (!flow_is(i, known[k].opcode) || i->operand_count != known[k].operands + 1) continue;
    *operands = known[k].operands;
    return known[k].op;
  }
  return NULL;
}

static int build_operation(builder *b, const ptx_instr *i, int at) {
  flow_node node = {.left = -1, .right = -1, .third = -1};
  int operands = 0;
  node.op = operation(i, &operands);
  if (!node.op || !result_type(i, &node)) return -1;
  if (has_mod(i, "wide")) node.bits *= 2;
  int *const children[] = {&node.left, &node.right, &node.third};
  int root = add_node(b, node);
  for (int k = 0; root >= 0 && k < operands; k++) {
    int child = build(b, &i->operands[k + 1], at);
    if (child < 0) return -1;
    *children[k] = child;
  }
  if (root >= 0) b->nodes[root] = node;
  return root;
}

static int build_register(builder *b, int reg, int at) {
  const flow_value *value = &b->values[reg];
  if (value->definitions == 0) return -1;
  int from = value->definitions == 1 ? value->definition : flow_definition(b->walk, reg, at);
  if (from < 0) return -1;
  const ptx_instr *i = &b->walk->func->body[from];
  if (i->guard >= 0) return -1;
  const char *parameter = flow_parameter(b->walk->func, i);
  if (parameter && (i->operands[0].kind != PTX_OP_REG || i->operands[1].bits)) return -1;
  if (parameter) return add_node(b, (flow_node){.op = "parameter", .name = parameter});
  return build_operation(b, i, from);
}

static int build(builder *b, const ptx_operand *o, int at) {
  int root = -1;
  if (b->depth == DEPTH_MAX) return -1;
  b->depth++;
  if (o->kind == PTX_OP_REG) root = build_register(b, o->reg, at);
  if (o->kind == PTX_OP_SPECIAL && flow_is_shape(o->name))
    root = add_node(b, (flow_node){.op = "special", .name = o->name});
  if (o->kind == PTX_OP_INT)
    root = add_node(b, (flow_node){.op = "constant", .constant = (int64_t)o->bits});
  b->depth--;
  return root;
}

int flow_expression(flow_walk *w, const ptx_operand *operand, const flow_value *values, int at,
                    flow_node nodes[FLOW_NODES_MAX]) {
  builder b = {.walk = w, .values = values, .nodes = nodes};
  return build(&b, operand, at) < 0 ? 0 : b.count;
}
