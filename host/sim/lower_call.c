/* Lowering of calls: where arguments lie in a frame's local memory, the call instructions, the
 * entry and exit of functions, and how much local memory all calls of a kernel need. */
#include <stdlib.h>
#include <string.h>

#include "lower.h"
#include "memory.h"

/* Local memory of a thread of a kernel whose calls may recurse; longest chain of other calls. */
enum { RECURSIVE_STACK = 32 << 10, CHAIN_MAX = 1000, LOCAL_MAX = 512 << 10 };

uint64_t sim_code_address(const ptx_module *source, const char *name) {
  for (int i = 0; i < source->func_count; i++) {
    if (source->funcs[i].name == name) return SIM_CODE_WINDOW + (uint64_t)i * SIM_CODE_STEP;
  }
  return 0;
}

/* ---- layout of a frame's local memory ---- */

static uint64_t bytes_of(const ptx_var *v) {
  return v->count * ptx_type_bytes(v->type);
}

/* Room for `bytes` in the frame's local memory from *end on. */
static uint32_t place(lowering *l, uint64_t bytes, uint64_t align, uint64_t *end) {
  uint64_t at = (*end + align - 1) / align * align;
  if (align > l->out->local_align) l->out->local_align = (uint32_t)align;
  *end = at + bytes;
  if (*end <= LOCAL_MAX) return (uint32_t)at;
  lower_fail(l, PG_UNSUPPORTED, "%s has over 512 KiB of local memory", l->source->name);
  *end = 0;
  return 0;
}

static sim_param *place_formals(lowering *l, const ptx_var *vars, int count, uint64_t *end) {
  sim_param *out = calloc((size_t)count + 1, sizeof *out);
  if (!out) {
    lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
    return NULL;
  }
  for (int i = 0; i < count; i++) {
    l->line = vars[i].line;
    out[i].offset = place(l, bytes_of(&vars[i]), vars[i].align, end);
    out[i].bytes = (uint32_t)bytes_of(&vars[i]);
  }
  return out;
}

/* Where a .param variable of the body is used, so that those of different calls share memory. */
typedef struct use {
  const char *name;
  int var, first, last;
} use;

static int by_name(const void *a, const void *b) {
  const use *x = a, *y = b;
  return (x->name > y->name) - (x->name < y->name);
}

static int by_first(const void *a, const void *b) {
  const use *x = a, *y = b;
  return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : x->var - y->var;
}

static void note_uses(const ptx_operand *o, use *uses, size_t count, int at) {
  use wanted = {.name = o->name};
  use *u = o->kind == PTX_OP_SYMBOL ? bsearch(&wanted, uses, count, sizeof *uses, by_name) : NULL;
  if (u && u->first < 0) u->first = at;
  if (u) u->last = at;
  for (int i = 0; i < o->count; i++) note_uses(&o->items[i], uses, count, at);
}

static use *find_uses(const ptx_func *f, size_t *count) {
  use *uses = calloc((size_t)f->var_count + 1, sizeof *uses);
  *count = 0;
  for (int i = 0; uses && i < f->var_count; i++) {
    if (f->vars[i].space == PTX_PARAM) uses[(*count)++] = (use){f->vars[i].name, i, -1, -1};
  }
  if (!*count) return uses;
  qsort(uses, *count, sizeof *uses, by_name);
  for (int i = 0; i < f->instr_count; i++) {
    for (int k = 0; k < f->body[i].operand_count; k++)
      note_uses(&f->body[i].operands[k], uses, *count, i);
  }
  qsort(uses, *count, sizeof *uses, by_first);
  return uses;
}

/* Variables of call sequences: memory starts anew when all before have had their last use. */
static bool place_arguments(lowering *l, uint64_t *end) {
  size_t count;
  use *uses = find_uses(l->source, &count);
  if (!uses) return lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
  uint64_t start = *end, at = start;
  int last = -1;
  for (size_t i = 0; i < count; i++) {
    const ptx_var *v = &l->source->vars[uses[i].var];
    if (uses[i].first > last) at = start;
    if (uses[i].last > last) last = uses[i].last;
    l->line = v->line;
    l->var_offset[uses[i].var] = place(l, bytes_of(v), v->align, &at);
    if (at > *end) *end = at;
  }
  free(uses);
  return !l->code;
}

bool lower_frame(lowering *l) {
  const ptx_func *f = l->source;
  uint64_t end = 0;
  l->out->local_align = 16;
  l->var_offset = calloc((size_t)f->var_count + 1, sizeof *l->var_offset);
  if (!l->var_offset) return lower_fail(l, PG_MEMORY, "no memory to lower %s", f->name);
  for (int i = 0; i < f->var_count; i++) {
    const ptx_var *v = &f->vars[i];
    l->line = v->line;
    if (v->space == PTX_LOCAL) l->var_offset[i] = place(l, bytes_of(v), v->align, &end);
  }
  if (!f->is_entry) {
    l->out->args = place_formals(l, f->params, f->param_count, &end);
    l->out->rets = place_formals(l, f->rets, f->ret_count, &end);
  }
  if (l->code || !place_arguments(l, &end)) return false;
  l->out->local_bytes = (end + 15) / 16 * 16;
  return true;
}

uint32_t lower_frame_base(lowering *l) {
  return l->source->is_entry ? 0 : lower_wide_special(l, SIM_FRAME_BASE);
}

static bool found(lower_place *out, bool param, uint64_t offset) {
  /* In a function parameters are local memory: their addresses lie in that window. */
  *out = (lower_place){.value = offset + (param ? SIM_LOCAL_WINDOW - SIM_PARAM_WINDOW : 0),
                       .space = param ? PTX_PARAM : PTX_LOCAL,
                       .in_frame = true};
  return true;
}

/* A parameter, result or variable of the frame, and its size. */
static bool frame_variable(const lowering *l, const char *name, lower_place *out, uint64_t *bytes) {
  const ptx_func *f = l->source;
  for (int i = 0; i < f->param_count && !f->is_entry; i++) {
    *bytes = bytes_of(&f->params[i]);
    if (f->params[i].name == name) return found(out, true, l->out->args[i].offset);
  }
  for (int i = 0; i < f->ret_count; i++) {
    *bytes = bytes_of(&f->rets[i]);
    if (f->rets[i].name == name) return found(out, true, l->out->rets[i].offset);
  }
  for (int i = 0; i < f->var_count; i++) {
    const ptx_var *v = &f->vars[i];
    if (v->name != name || (v->space != PTX_LOCAL && v->space != PTX_PARAM)) continue;
    *bytes = bytes_of(v);
    return found(out, v->space == PTX_PARAM, l->var_offset[i]);
  }
  return false;
}

bool lower_frame_symbol(const lowering *l, const char *name, lower_place *out) {
  uint64_t bytes;
  return frame_variable(l, name, out, &bytes);
}

/* ---- moving registers to and from the frame ---- */

static void access_frame(lowering *l, bool store, uint32_t slot, uint32_t bytes, uint32_t offset) {
  static const char *const keys[2][4] = {{"ld_b8", "ld_b16", "ld_b32", "ld_b64"},
                                         {"st_b8", "st_b16", "st_b32", "st_b64"}};
  const sim_entry *entry = sim_find_entry(keys[store][__builtin_ctz(bytes)]);
  uint32_t base = lower_frame_base(l);
  sim_op *op = lower_emit(l, entry->fn);
  *(store ? &op->b : &op->d) = slot;
  op->a = base;
  op->narrow = base ? 0 : 2;
  op->imm = SIM_LOCAL_WINDOW + offset;
  op->bytes = (uint8_t)bytes;
  op->count = 1;
  op->store = store;
  op->cache = l->program->cache_count++;
}

static char shape_of(uint32_t bytes) {
  return bytes == 8 ? '8' : '4';
}

/* Formal parameters in registers are passed in memory like the others; they are the function's
 * first registers, results before parameters. */
static bool move_formals(lowering *l, bool results, bool store) {
  const ptx_func *f = l->source;
  int reg = 0;
  for (int i = 0; i < f->ret_count + f->param_count; i++) {
    bool is_result = i < f->ret_count;
    const ptx_var *v = is_result ? &f->rets[i] : &f->params[i - f->ret_count];
    if (v->space != PTX_REG) continue;
    uint32_t slot = l->slot[reg++], bytes = ptx_type_bytes(v->type);
    if (is_result != results) continue;
    if (bytes == 0 || bytes > 8)
      return lower_fail(l, PG_UNSUPPORTED, "%s has a parameter of type .%s", f->name,
                        ptx_type_name(v->type));
    const sim_param *p = is_result ? &l->out->rets[i] : &l->out->args[i - f->ret_count];
    access_frame(l, store, slot, bytes, p->offset);
  }
  return !l->code;
}

bool lower_prologue(lowering *l) {
  return l->source->is_entry || move_formals(l, false, false);
}

/* ret; in a kernel it ends the thread. */
bool lower_ret(lowering *l, const ptx_instr *instr) {
  (void)instr;
  if (!l->source->is_entry && !move_formals(l, true, true)) return false;
  lower_emit(l, l->source->is_entry ? sim_op_exit : sim_op_return);
  return !l->code;
}

/* ---- call ---- */

/* Hidden memory for an argument that is a register or a constant. */
static uint32_t hidden(lowering *l, uint32_t bytes) {
  uint64_t end = l->out->local_bytes;
  uint32_t at = place(l, bytes, bytes, &end);
  l->out->local_bytes = (end + 15) / 16 * 16;
  return at;
}

static bool describe(lowering *l, const ptx_operand *o, const ptx_var *formal, sim_param *out) {
  lower_place at;
  uint64_t bytes;
  if (o->kind == PTX_OP_SYMBOL && frame_variable(l, o->name, &at, &bytes)) {
    uint64_t window = at.space == PTX_PARAM ? SIM_LOCAL_WINDOW - SIM_PARAM_WINDOW : 0;
    *out = (sim_param){(uint32_t)(at.value - window), (uint32_t)bytes};
    return true;
  }
  bytes = formal                  ? bytes_of(formal)
          : o->kind == PTX_OP_REG ? ptx_type_bytes(l->source->regs[o->reg].type)
          : o->kind == PTX_OP_F64 ? 8
                                  : 4;
  if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1)) || o->kind == PTX_OP_SYMBOL)
    return lower_unsupported(l, "this argument");
  *out = (sim_param){hidden(l, (uint32_t)bytes), (uint32_t)bytes};
  return !l->code;
}

static sim_param *describe_all(lowering *l, const ptx_operand *list, const ptx_var *formals,
                               int count) {
  sim_param *out = calloc((size_t)list->count + 1, sizeof *out);
  if (!out) lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
  for (int i = 0; out && i < list->count && !l->code; i++)
    describe(l, &list->items[i], formals && i < count ? &formals[i] : NULL, &out[i]);
  return out;
}

static bool is_frame_symbol(const ptx_operand *o) {
  return o->kind == PTX_OP_SYMBOL;
}

static bool store_arguments(lowering *l, const ptx_operand *list, const sim_call *call) {
  for (int i = 0; i < list->count; i++) {
    if (is_frame_symbol(&list->items[i])) continue;
    l->used_p = l->used_4 = l->used_8 = 0;
    uint32_t bytes = call->args[i].bytes;
    uint32_t slot = lower_source(l, &list->items[i], shape_of(bytes));
    access_frame(l, true, slot, bytes, call->args[i].offset);
  }
  return !l->code;
}

static bool load_results(lowering *l, const ptx_operand *list, const sim_call *call) {
  for (int i = 0; i < list->count; i++) {
    if (is_frame_symbol(&list->items[i]) || list->items[i].kind == PTX_OP_SINK) continue;
    l->used_p = l->used_4 = l->used_8 = 0;
    uint32_t wide, bytes = call->rets[i].bytes;
    uint32_t slot = lower_dest(l, &list->items[i], shape_of(bytes), &wide);
    access_frame(l, false, slot, bytes, call->rets[i].offset);
    lower_widen(l, wide, slot, false);
  }
  return !l->code;
}

/* The operands of a call by their role: (results), function, (arguments), targets. */
typedef struct parts {
  const ptx_operand *rets, *target, *args;
} parts;

static bool split(lowering *l, const ptx_instr *instr, parts *out) {
  static const ptx_operand none = {.kind = PTX_OP_TUPLE};
  int i = 0, n = instr->operand_count;
  *out = (parts){&none, NULL, &none};
  if (i < n && instr->operands[i].kind == PTX_OP_TUPLE) out->rets = &instr->operands[i++];
  if (i < n) out->target = &instr->operands[i++];
  if (i < n && instr->operands[i].kind == PTX_OP_TUPLE) out->args = &instr->operands[i++];
  if (i < n && instr->operands[i].kind == PTX_OP_LABEL) i++; /* checked when the call is made */
  if (out->target && i == n) return true;
  return lower_fail(l, PG_SYNTAX, "'%s': a call is (results), function, (arguments)", instr->text);
}

static bool undefined(lowering *l, const char *name) {
  static const char *const heap[] = {"malloc", "free", "cudaMalloc"};
  for (size_t i = 0; i < sizeof heap / sizeof *heap; i++) {
    if (strcmp(name, heap[i]) != 0) continue;
    lower_fail(l, PG_UNSUPPORTED, "the simulator has no heap in kernels: call of %s", name);
    pg_hint(l->error, "pass memory to the kernel as an argument");
    return false;
  }
  return lower_fail(l, PG_UNSUPPORTED, "call of %s, which is declared and never defined", name);
}

/* The micro-op and, for a function of the module, what it is. */
static sim_handler handler_of(lowering *l, const ptx_func *f, sim_call *call) {
  const ptx_module *m = l->program->source;
  if (!f) return sim_op_call_pointer;
  if (!f->is_extern) {
    call->func = l->program->by_index[f - m->funcs];
    if (call->func) return sim_op_call;
    lower_fail(l, PG_SYNTAX, "'%s': %s is a kernel", lower_instr(l)->text, f->name);
    return NULL;
  }
  if (strcmp(f->name, "vprintf") == 0) return sim_op_print;
  if (strcmp(f->name, "__assertfail") == 0) return sim_op_assert_fail;
  undefined(l, f->name);
  return NULL;
}

static bool same_sizes(const sim_param *params, const ptx_var *formals, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (params[i].bytes != bytes_of(&formals[i])) return false;
  }
  return true;
}

static bool check_arguments(lowering *l, const ptx_func *f, const sim_call *call) {
  if (call->arg_count == (uint32_t)f->param_count && call->ret_count <= (uint32_t)f->ret_count &&
      same_sizes(call->args, f->params, call->arg_count) &&
      same_sizes(call->rets, f->rets, call->ret_count))
    return true;
  return lower_fail(l, PG_SYNTAX,
                    "'%s': %s takes %d arguments and gives %d results, or their sizes differ",
                    lower_instr(l)->text, f->name, f->param_count, f->ret_count);
}

static sim_call *new_call(lowering *l, const parts *p, const ptx_func *f) {
  sim_call *call = calloc(1, sizeof *call);
  if (!call) {
    lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
    return NULL;
  }
  call->next = l->out->calls; /* the function owns it from here on */
  l->out->calls = call;
  call->arg_count = (uint32_t)p->args->count;
  call->ret_count = (uint32_t)p->rets->count;
  call->args = describe_all(l, p->args, f ? f->params : NULL, f ? f->param_count : 0);
  call->rets = describe_all(l, p->rets, f ? f->rets : NULL, f ? f->ret_count : 0);
  return l->code ? NULL : call;
}

bool lower_call(lowering *l, const ptx_instr *instr) {
  parts p;
  if (!lower_known(l, "uni") || !split(l, instr, &p)) return false;
  bool pointer = p.target->kind == PTX_OP_REG;
  const ptx_func *f =
      pointer || !p.target->name ? NULL : ptx_find(l->program->source, p.target->name);
  if (!pointer && !f) return lower_fail(l, PG_SYNTAX, "'%s': no such function", instr->text);
  sim_call *call = new_call(l, &p, f);
  if (!call) return false;
  sim_handler fn = handler_of(l, f, call);
  if (!fn || (f && !check_arguments(l, f, call)) || !store_arguments(l, p.args, call)) return false;
  l->out->calls_pointers |= pointer;
  uint32_t target = pointer ? lower_source(l, p.target, '8') : 0;
  sim_op *op = lower_emit(l, fn);
  op->a = target;
  op->imm = (uint64_t)(uintptr_t)call;
  return load_results(l, p.rets, call);
}

/* ---- stack sizes ---- */

/* Local memory of f and all it calls; *unbounded when that is not known. */
static uint64_t stack_of(sim_func *f, int depth, bool *unbounded) {
  if (f->visit == 1 || depth > CHAIN_MAX) {
    *unbounded = true;
    return 0;
  }
  if (f->visit == 2) {
    *unbounded |= f->unbounded;
    return f->stack_bytes;
  }
  f->visit = 1;
  f->unbounded = f->calls_pointers;
  uint64_t most = 0;
  for (const sim_call *c = f->calls; c; c = c->next) {
    if (!c->func) continue;
    uint64_t need = stack_of((sim_func *)c->func, depth + 1, &f->unbounded) + c->func->local_align;
    if (need > most) most = need;
  }
  f->stack_bytes = f->local_bytes + most;
  f->visit = 2;
  *unbounded |= f->unbounded;
  return f->stack_bytes;
}

void lower_stacks(sim_program *p) {
  for (size_t i = 0; i < p->func_count; i++) {
    bool unbounded = false;
    stack_of(&p->funcs[i], 0, &unbounded);
    if (unbounded) p->funcs[i].stack_bytes += RECURSIVE_STACK;
    p->funcs[i].stack_bytes = (p->funcs[i].stack_bytes + 15) / 16 * 16;
  }
}

void lower_free_calls(sim_func *f) {
  while (f->calls) {
    sim_call *next = f->calls->next;
    free(f->calls->args);
    free(f->calls->rets);
    free(f->calls);
    f->calls = next;
  }
  free(f->args);
  free(f->rets);
}
