/* What PTX text says of itself, for Lua: core.ptx_facts. The parser is the simulator's; what the
 * facts mean is perigee.audit's business. */
#include "bind.h"
#include "device.h"
#include "value.h"

#include <stdlib.h>
#include <string.h>

#include "../sim/flow.h"

#define MODULE_META "perigee.ptx_module"

enum {
  SPELLING_MAX = 600, /* of a mnemonic: the parser allows 512 */
  ROWS_MAX = 1 << 17, /* of the tables of a module; what compilers write needs some hundreds */
  TEXT_MAX = 16 << 20 /* bytes */
};

/* Owns what would be lost when Lua runs out of memory. */
typedef struct holder {
  ptx_module *module;
  flow_value *values;
  uint8_t *reached;
  flow_test *tests; /* FLOW_TESTS_MAX, for one function after the other */
  int64_t budget;   /* of flow_tests, for the whole module */
  int rows;
} holder;

static void drop_flow(holder *h) {
  free(h->values);
  free(h->reached);
  h->values = NULL;
  h->reached = NULL;
}

static void drop(holder *h) {
  drop_flow(h);
  free(h->tests);
  h->tests = NULL;
  ptx_free(h->module);
  h->module = NULL;
}

static int module_gc(lua_State *L) {
  holder *h = luaL_checkudata(L, 1, MODULE_META);
  drop(h);
  return 0;
}

/* ---- one function ---- */

/* What is being filled in: stack indices of the function's tables. */
typedef struct context {
  lua_State *L;
  holder *held;
  const ptx_func *func;
  int mnemonics, sums, specials, calls, written, read, escaped, passed;
} context;

/* Where the instruction stands, as fields of the table on top. */
static void set_place(lua_State *L, const ptx_instr *i) {
  pg_lua_set_integer(L, "line", i->line);
  if (!i->file) return;
  lua_pushstring(L, i->file);
  lua_setfield(L, -2, "file");
  pg_lua_set_integer(L, "file_line", i->file_line);
}

static int too_large(lua_State *L, const char *what) {
  pg_error error;
  pg_fail(&error, PG_RANGE, "the audit does not read PTX of %s", what);
  return pg_lua_raise(L, &error);
}

/* Count the instruction under the key on top of the stack, which is popped. */
static void count_under_key(context *c, int table, const ptx_instr *i) {
  lua_State *L = c->L;
  lua_pushvalue(L, -1);
  if (lua_rawget(L, table) == LUA_TNIL) {
    lua_pop(L, 1);
    if (++c->held->rows > ROWS_MAX) too_large(L, "so many kinds of instructions and names");
    lua_createtable(L, 0, 4);
    pg_lua_set_integer(L, "count", 0);
    set_place(L, i);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, table);
  }
  lua_getfield(L, -1, "count");
  lua_Integer count = lua_tointeger(L, -1);
  lua_pop(L, 1);
  pg_lua_set_integer(L, "count", count + 1);
  lua_pop(L, 2);
}

static void count_name(context *c, int table, const char *name, const ptx_instr *i) {
  lua_pushstring(c->L, name);
  count_under_key(c, table, i);
}

static void push_spelling(lua_State *L, const ptx_instr *i) {
  char text[SPELLING_MAX];
  size_t length = strlen(i->opcode);
  memcpy(text, i->opcode, length); /* a mnemonic is within the parser's 512 bytes */
  for (int k = 0; k < i->mod_count; k++) {
    size_t more = strlen(i->mods[k]);
    if (length + more + 1 >= sizeof text) break;
    text[length] = '.';
    memcpy(text + length + 1, i->mods[k], more);
    length += more + 1;
  }
  lua_pushlstring(L, text, length);
}

static void count_mnemonic(context *c, const ptx_instr *i) {
  push_spelling(c->L, i);
  count_under_key(c, c->mnemonics, i);
  if (!flow_sums_halves(c->func, i, c->held->values)) return;
  push_spelling(c->L, i);
  count_under_key(c, c->sums, i);
}

static void count_specials(context *c, const ptx_operand *o, const ptx_instr *i) {
  if (o->kind == PTX_OP_SPECIAL) count_name(c, c->specials, o->name, i);
  for (int k = 0; k < o->count; k++) count_specials(c, &o->items[k], i);
}

static bool is(const ptx_instr *i, const char *opcode) {
  return strcmp(i->opcode, opcode) == 0;
}

/* A call by name, or, where the place of the name holds a register, one that may go anywhere. */
static void count_call(context *c, const ptx_instr *i) {
  for (int k = 0; k < i->operand_count; k++) {
    const ptx_operand *o = &i->operands[k];
    if (o->kind == PTX_OP_TUPLE) continue;
    count_name(c, c->calls, o->kind == PTX_OP_SYMBOL ? o->name : "*", i);
    return;
  }
}

static void count_symbol(context *c, int table, const char *symbol, const ptx_instr *i) {
  if (symbol) count_name(c, table, symbol == FLOW_ANY ? "*" : symbol, i);
}

static void count_variable(context *c, const ptx_instr *i) {
  const char *target = flow_target(i, c->held->values);
  if (flow_stores(i)) count_symbol(c, c->written, target, i);
  if (is(i, "ld") || is(i, "atom") || is(i, "ldu")) count_symbol(c, c->read, target, i);
  bool passes = is(i, "call") || (i->mod_count > 0 && strncmp(i->mods[0], "param", 5) == 0);
  count_symbol(c, passes ? c->passed : c->escaped, flow_escape(i, c->held->values), i);
}

static void count_instruction(context *c, const ptx_instr *i) {
  count_mnemonic(c, i);
  for (int k = 0; k < i->operand_count; k++) count_specials(c, &i->operands[k], i);
  if (is(i, "call")) count_call(c, i);
  count_variable(c, i);
}

/* A node and those under it: {op, bits, signed, constant or name or operands}. */
static void push_node(lua_State *L, const flow_test *test, int at) {
  const flow_node *node = &test->node[at];
  luaL_checkstack(L, 4, "an expression");
  lua_createtable(L, 0, 4);
  lua_pushstring(L, node->op);
  lua_setfield(L, -2, "op");
  if (node->name) lua_pushstring(L, node->name), lua_setfield(L, -2, "name");
  pg_lua_set_integer(L, "constant", node->constant);
  pg_lua_set_integer(L, "bits", node->bits);
  lua_pushboolean(L, node->is_signed);
  lua_setfield(L, -2, "signed");
  if (node->name || strcmp(node->op, "constant") == 0) return;
  const int operands[] = {node->left, node->right, node->third};
  lua_createtable(L, 3, 0);
  for (int k = 0; k < 3 && operands[k] >= 0; k++) {
    push_node(L, test, operands[k]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "operands");
}

static void push_test(lua_State *L, const flow_test *test) {
  lua_createtable(L, 0, 8);
  set_place(L, test->instr);
  lua_pushstring(L, test->of);
  lua_setfield(L, -2, "of");
  lua_pushstring(L, test->comparison);
  lua_setfield(L, -2, "comparison");
  pg_lua_set_integer(L, "constant", test->constant);
  if (test->nodes) push_node(L, test, 0), lua_setfield(L, -2, "value");
  lua_pushboolean(L, test->skips);
  lua_setfield(L, -2, "skips");
}

static int out_of_memory(lua_State *L) {
  pg_error error;
  pg_fail(&error, PG_MEMORY, "not enough memory to audit PTX");
  return pg_lua_raise(L, &error);
}

/* Field `tests` of the table on top. */
static void set_tests(lua_State *L, holder *h, const ptx_func *func) {
  int count = flow_tests(func, h->values, h->reached, h->tests, &h->budget);
  if (count < 0) out_of_memory(L);
  lua_newtable(L);
  for (int k = 0; k < count && k < FLOW_TESTS_MAX; k++) {
    push_test(L, &h->tests[k]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "tests");
  /* What was not found for want of time counts as more than was looked at. */
  pg_lua_set_integer(L, "test_count", h->budget < 0 ? FLOW_TESTS_MAX + 1 : count);
}

/* A new table as field `name` of the one at `owner`; its stack index. */
static int new_field(lua_State *L, int owner, const char *name) {
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, owner, name);
  return lua_gettop(L);
}

static lua_Integer local_bytes(const ptx_func *func) {
  uint64_t bytes = 0;
  for (int k = 0; k < func->var_count; k++) {
    const ptx_var *v = &func->vars[k];
    if (v->space == PTX_LOCAL) bytes += v->count * ptx_type_bytes(v->type);
  }
  return (lua_Integer)(bytes & INT64_MAX);
}

/* Field `parameters` of the table on top: a list of names. */
static void set_parameters(lua_State *L, const ptx_func *func) {
  lua_createtable(L, func->param_count, 0);
  for (int k = 0; k < func->param_count; k++) {
    lua_pushstring(L, func->params[k].name ? func->params[k].name : "");
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "parameters");
}

/* The table of a function that has a body. */
static void push_function(lua_State *L, holder *h, const ptx_func *func) {
  drop_flow(h);
  h->values = flow_values(func);
  h->reached = flow_reached(func);
  if (!h->values || !h->reached) out_of_memory(L);
  lua_createtable(L, 0, 12);
  int top = lua_gettop(L);
  context c = {.L = L, .held = h, .func = func};
  c.mnemonics = new_field(L, top, "instructions");
  c.sums = new_field(L, top, "sums");
  c.specials = new_field(L, top, "specials");
  c.calls = new_field(L, top, "calls");
  c.written = new_field(L, top, "written");
  c.read = new_field(L, top, "read");
  c.escaped = new_field(L, top, "escaped");
  c.passed = new_field(L, top, "passed");
  for (int k = 0; k < func->instr_count; k++)
    if (func->body[k].opcode && h->reached[k]) count_instruction(&c, &func->body[k]);
  lua_settop(L, top);
  set_tests(L, h, func);
  lua_pushboolean(L, func->is_entry);
  lua_setfield(L, -2, "entry");
  pg_lua_set_integer(L, "line", func->line);
  pg_lua_set_integer(L, "returns", func->ret_count);
  set_parameters(L, func);
  pg_lua_set_integer(L, "local_bytes", local_bytes(func));
}

/* ---- the module ---- */

static const char *space_name(ptx_space space) {
  return space == PTX_CONST ? "const" : space == PTX_SHARED ? "shared" : "global";
}

/* Field `points_to`: names whose addresses stand in the initial values. */
static void set_pointed(lua_State *L, const ptx_var *v) {
  lua_createtable(L, v->reloc_count, 0);
  for (int k = 0; k < v->reloc_count; k++) {
    lua_pushstring(L, v->relocs[k].symbol);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "points_to");
}

/* name -> {space, bytes, initialised, line, points_to} of module scope and of statics within
 * functions. */
static void set_variables(lua_State *L, int table, const ptx_var *vars, int count) {
  for (int k = 0; k < count; k++) {
    const ptx_var *v = &vars[k];
    if (v->space != PTX_GLOBAL && v->space != PTX_CONST && v->space != PTX_SHARED) continue;
    lua_createtable(L, 0, 4);
    lua_pushstring(L, space_name(v->space));
    lua_setfield(L, -2, "space");
    uint64_t bytes = v->count * ptx_type_bytes(v->type);
    pg_lua_set_integer(L, "bytes", (lua_Integer)(bytes & INT64_MAX));
    lua_pushboolean(L, v->init != NULL);
    lua_setfield(L, -2, "initialised");
    pg_lua_set_integer(L, "line", v->line);
    set_pointed(L, v);
    lua_setfield(L, table, v->name);
  }
}

static void push_module(lua_State *L, holder *h) {
  const ptx_module *m = h->module;
  lua_createtable(L, 0, 4);
  int top = lua_gettop(L);
  lua_pushfstring(L, "%d.%d", m->version_major, m->version_minor);
  lua_setfield(L, top, "version");
  lua_pushstring(L, m->target);
  lua_setfield(L, top, "target");
  int variables = new_field(L, top, "variables"), functions = new_field(L, top, "functions");
  set_variables(L, variables, m->vars, m->var_count);
  for (int k = 0; k < m->func_count; k++) {
    const ptx_func *func = &m->funcs[k];
    if (func->is_extern) continue;
    set_variables(L, variables, func->vars, func->var_count);
    push_function(L, h, func);
    lua_setfield(L, functions, func->name);
  }
  lua_settop(L, top);
}

/* core.ptx_facts(text, name) -> {version, target, variables = {name -> {space, bytes, initialised,
 * line, points_to = names}}, functions = {name -> {entry, line, returns, local_bytes, parameters =
 * names, instructions, sums, specials, calls, written, read, escaped, passed = {spelling or name ->
 * {count, line, file, file_line}}, tests = list of {of, comparison, constant, value, skips, line,
 * file, file_line}, test_count}}}. `escaped` and `passed`: variables whose addresses are stored,
 * and given to functions. `sums`: instructions that go on with a sum in f16. `value`: the
 * expression that is compared, where it is known: {op, bits, signed, name or constant or operands}.
 * Instructions that control cannot come to are left out.
 * "*": a call, or an address, of which it is not known where it goes. Raises "syntax" with a place,
 * "range" for text beyond limits, "out_of_memory". */
static int core_ptx_facts(lua_State *L) {
  size_t bytes;
  const char *text = pg_lua_check_string(L, 1, &bytes);
  const char *name = pg_lua_check_string(L, 2, NULL);
  pg_error error;
  if (bytes > TEXT_MAX) return too_large(L, "more than 16 MiB");
  holder *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (holder){.budget = FLOW_BUDGET};
  luaL_setmetatable(L, MODULE_META);
  if (ptx_parse(text, bytes, name, &h->module, &error)) return pg_lua_raise(L, &error);
  h->tests = calloc(FLOW_TESTS_MAX, sizeof *h->tests);
  if (!h->tests) return out_of_memory(L);
  push_module(L, h);
  drop(h);
  return 1;
}

void pg_bind_audit(lua_State *L) {
  static const luaL_Reg functions[] = {{"ptx_facts", core_ptx_facts}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {{"__gc", module_gc}, {NULL, NULL}};
  pg_lua_make_meta(L, MODULE_META, NULL, metamethods);
  luaL_setfuncs(L, functions, 0);
}
