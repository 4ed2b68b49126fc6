/* Syntax tree -> micro-ops: the driver, emission, and the instructions that are plain entries of
 * the table. Slots: predicates, 32-bit, 64-bit, then constants and special registers as they are
 * met. */
#include "lower.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"

enum { KEY_MAX = 96 };
/* Bytes of a warp's registers: some 30,000 live 64-bit values; no compiler comes near. */
enum { FRAME_MAX = 8 << 20 };

/* ---- errors ---- */

const ptx_instr *lower_instr(const lowering *l) {
  return &l->source->body[l->at];
}

static void add_ptx_line(pg_error *e, int line) {
  size_t used = e ? strlen(e->message) : 0;
  if (e) snprintf(e->message + used, sizeof e->message - used, " (PTX line %d)", line);
}

static bool is_ptx_file(const char *name) {
  size_t n = strlen(name);
  return n > 4 && strcmp(name + n - 4, ".ptx") == 0;
}

/* In text that was compiled from a source (its name says so): the line of the source, with the
 * user's own if it was inlined. Else that of the PTX, of a declaration when it is about one. */
static void add_where(lowering *l) {
  bool declares = l->at >= (uint32_t)l->source->instr_count;
  const ptx_instr *instr = declares ? NULL : lower_instr(l);
  const ptx_place *place = instr && !is_ptx_file(l->name) ? instr->place : NULL;
  while (place && place->inlined_at) place = place->inlined_at;
  if (place && place->file) {
    pg_where(l->error, "%s:%d", place->file, place->line);
    add_ptx_line(l->error, instr->line);
  } else {
    pg_where(l->error, "%s:%d", l->name, declares ? l->line : instr->line);
  }
}

bool lower_fail(lowering *l, pg_code code, const char *format, ...) {
  if (l->code) return false;
  va_list args;
  va_start(args, format);
  l->code = pg_failv(l->error, code, format, args);
  va_end(args);
  add_where(l);
  return false;
}

/* What to write in place of instructions that compilers make of plain CUDA C++. */
static const char *instead_of(const char *opcode) {
  static const struct {
    const char *opcode, *hint;
  } known[] = {
      {"wmma", "use mma.sync, and ldmatrix for its operands"},
      {"tex", "read the array through a pointer"},
      {"tld4", "read the array through a pointer"},
      {"suld", "read the array through a pointer"},
      {"sust", "write the array through a pointer"},
      {"sured", "use an atomic on a pointer"},
      {"alloca", "give the array a constant size"},
      {"createpolicy", "leave the cache policy out: it changes the speed on a GPU alone"},
      {"discard", "leave it out: it changes the speed on a GPU alone"},
      {"setmaxnreg", "leave it out: it changes the speed on a GPU alone"},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].opcode, opcode) == 0) return known[i].hint;
  }
  return NULL;
}

bool lower_unsupported(lowering *l, const char *why) {
  const char *hint = l->code ? NULL : instead_of(lower_instr(l)->opcode);
  lower_fail(l, PG_UNSUPPORTED, "the simulator does not know '%s'%s%s", lower_instr(l)->text,
             why ? ": " : "", why ? why : "");
  if (hint) pg_hint(l->error, "%s", hint);
  return false;
}

bool lower_operands(lowering *l, int least, int most) {
  int n = lower_instr(l)->operand_count;
  if (n >= least && n <= most) return true;
  return lower_fail(l, PG_SYNTAX, "'%s' has %d operands, expected %d to %d", lower_instr(l)->text,
                    n, least, most);
}

void *lower_grow(lowering *l, void *items, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return items;
  size_t wanted = *capacity ? *capacity * 2 : 64;
  void *more = realloc(items, wanted * size);
  if (!more) {
    lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
    return NULL;
  }
  *capacity = wanted;
  return more;
}

/* ---- emission ---- */

/* After an error a dummy keeps the callers free of checks: they stop at the next instruction. */
static sim_op *dummy(lowering *l) {
  return &l->ops[0];
}

sim_op *lower_emit(lowering *l, sim_handler fn) {
  void *ops = lower_grow(l, l->ops, l->op_count, &l->op_capacity, sizeof *l->ops);
  if (!ops) return dummy(l);
  l->ops = ops;
  sim_op *op = &l->ops[l->op_count++];
  *op = (sim_op){.fn = fn, .source = l->at};
  return op;
}

sim_op *lower_emit_key(lowering *l, const char *key, uint32_t d, uint32_t a, uint32_t b) {
  const sim_entry *entry = sim_find_entry(key);
  if (!entry) {
    lower_fail(l, PG_INTERNAL, "no micro-op named %s", key);
    return dummy(l);
  }
  sim_op *op = lower_emit(l, entry->fn);
  op->d = d;
  op->a = a;
  op->b = b;
  return op;
}

void lower_target(lowering *l, size_t op, bool label, size_t index) {
  void *fixups = lower_grow(l, l->fixups, l->fixup_count, &l->fixup_capacity, sizeof *l->fixups);
  if (!fixups) return;
  l->fixups = fixups;
  l->fixups[l->fixup_count++] = (fixup){op, label, index};
}

static void resolve_targets(lowering *l) {
  for (size_t i = 0; i < l->fixup_count; i++) {
    const fixup *f = &l->fixups[i];
    l->ops[f->op].target = &l->ops[f->label ? l->label_op[f->index] : f->index];
  }
}

/* ---- plain table entries ---- */

/* Modifiers that do not change what the simulator computes: nearest-even is the only rounding of
 * most. */
static bool dropped(const ptx_instr *instr, int index) {
  const char *mod = instr->mods[index];
  if (strcmp(mod, "rn") == 0) return strcmp(instr->opcode, "cvt") != 0;
  if (strcmp(instr->opcode, "cvt") != 0 || index + 1 >= instr->mod_count) return false;
  bool rounds_to_int = instr->mod_count > 0 && strlen(instr->mods[0]) == 3 &&
                       instr->mods[0][0] == 'r' && instr->mods[0][2] == 'i';
  const char *dest = instr->mods[instr->mod_count - 2], *from = instr->mods[instr->mod_count - 1];
  if (strcmp(mod, "sat") == 0)
    return rounds_to_int && dest[0] != 'f'; /* such conversions always clamp */
  if (strcmp(mod, "ftz") == 0)
    return from[0] == 's' || from[0] == 'u'; /* integers have no denormals */
  return false;
}

static void append(char *key, const char *part) {
  size_t n = strlen(key);
  snprintf(key + n, KEY_MAX - n, "%s%s", n ? "_" : "", part);
}

/* bN for a type of N bits, else the part itself. */
static const char *bits_of(const char *part) {
  ptx_type t = ptx_type_parse(part);
  if (t == PTX_NONE || t == PTX_PRED) return part;
  switch (ptx_type_bytes(t)) {
  case 1: return "b8";
  case 2: return "b16";
  case 4: return "b32";
  case 8: return "b64";
  default: return part;
  }
}

/* Moving a float is moving its bits; adding two is not. */
static bool sized(const ptx_instr *instr, const char *part) {
  bool is_float = part[0] == 'f' || strncmp(part, "bf", 2) == 0;
  return !is_float || strcmp(instr->opcode, "mov") == 0 || strcmp(instr->opcode, "selp") == 0 ||
         strcmp(instr->opcode, "slct") == 0;
}

/* `untyped`: index of the modifier whose type is replaced by its size, -1 none. */
static const sim_entry *find(const ptx_instr *instr, int untyped) {
  char key[KEY_MAX] = "";
  append(key, instr->opcode);
  int n = instr->mod_count;
  bool cvt_ftz = strcmp(instr->opcode, "cvt") == 0 && n >= 3 && lower_has(instr, "ftz") &&
                 instr->mods[n - 2][0] != 'f';
  for (int i = 0; i < n; i++) {
    if (dropped(instr, i)) continue;
    /* cvt.rzi.ftz.s32.f32: .ftz belongs to the source */
    if (cvt_ftz && strcmp(instr->mods[i], "ftz") == 0) continue;
    if (cvt_ftz && i == n - 1) append(key, "ftz");
    const char *part = instr->mods[i];
    append(key, i == untyped && sized(instr, part) ? bits_of(part) : part);
  }
  return sim_find_entry(key);
}

static const sim_entry *find_entry(const ptx_instr *instr) {
  const sim_entry *e = find(instr, -1);
  if (!e) e = find(instr, instr->mod_count - 1);
  if (!e && instr->mod_count > 1) e = find(instr, instr->mod_count - 2);
  return e;
}

static bool signed_result(const ptx_instr *instr) {
  ptx_type t = PTX_NONE;
  for (int i = 0; i < instr->mod_count && t == PTX_NONE; i++) t = ptx_type_parse(instr->mods[i]);
  return t == PTX_S8 || t == PTX_S16 || t == PTX_S32;
}

bool lower_plain(lowering *l, const ptx_instr *instr) {
  const sim_entry *entry = find_entry(instr);
  if (!entry) return lower_unsupported(l, NULL);
  int n = (int)strlen(entry->shape);
  if (!lower_operands(l, n, n)) return false;
  uint32_t s[6] = {0}, wide;
  for (int i = 1; i < n; i++) s[i] = lower_source(l, &instr->operands[i], entry->shape[i]);
  s[0] = lower_dest(l, &instr->operands[0], entry->shape[0], &wide);
  sim_op *op = lower_emit(l, entry->fn);
  op->d = s[0];
  op->a = s[1];
  op->b = s[2];
  op->c = s[3];
  op->e = s[4];
  lower_widen(l, wide, s[0], signed_result(instr));
  return !l->code;
}

/* ---- the driver ---- */

static const lower_entry *find_rule(const char *opcode) {
  static const lower_entry *const tables[] = {
      lower_memory_rules, lower_special_rules,  lower_predicate_rules, lower_matrix_rules,
      lower_atomic_rules, lower_mbarrier_rules, lower_video_rules};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
    for (const lower_entry *e = tables[t]; e->opcode; e++) {
      if (strcmp(e->opcode, opcode) == 0) return e;
    }
  }
  return NULL;
}

static void lower_label(lowering *l) {
  l->label_op[l->at] = l->op_count;
  /* Labels in a row share one meeting point. */
  if (l->op_count > 1 && l->ops[l->op_count - 1].fn == sim_op_join)
    l->label_op[l->at]--;
  else
    lower_emit(l, sim_op_join);
  l->count_op = SIZE_MAX;
}

/* sim:profile: the first instruction of a basic block is preceded by a counter of the block's
 * length. */
static void count_instruction(lowering *l) {
  if (!l->program->profile) return;
  if (l->count_op == SIZE_MAX) {
    l->count_op = l->op_count;
    lower_emit(l, sim_op_count);
  }
  l->ops[l->count_op].imm++;
}

static bool lower_guarded(lowering *l, const ptx_instr *instr, lower_rule *rule, bool meets) {
  size_t guard = l->op_count;
  sim_op *op = lower_emit(l, meets ? sim_op_branch : sim_op_guard);
  op->a = l->slot[instr->guard];
  op->negated = meets ? !instr->guard_negated : instr->guard_negated;
  if (!rule(l, instr)) return false;
  size_t end = l->op_count;
  lower_emit(l, meets ? sim_op_join : sim_op_unguard);
  lower_target(l, guard, false, meets ? end : end + 1);
  return !l->code;
}

/* sim:profile: who waits for memory lets others run, as on a GPU. */
static bool takes_long(const ptx_instr *instr) {
  if (strcmp(instr->opcode, "ld") && strcmp(instr->opcode, "atom")) return false;
  ptx_space space = lower_space(instr);
  return space == PTX_GLOBAL || space == PTX_GENERIC;
}

static bool lower_one(lowering *l) {
  const ptx_instr *instr = lower_instr(l);
  l->used_p = l->used_4 = l->used_8 = 0;
  if (!instr->opcode) {
    lower_label(l);
    return !l->code;
  }
  count_instruction(l);
  const lower_entry *special = find_rule(instr->opcode);
  lower_rule *rule = special ? special->rule : lower_plain;
  bool own_guard = strcmp(instr->opcode, "bra") == 0; /* a branch is its own guard */
  if (instr->guard >= 0 && !own_guard) {
    if (!lower_guarded(l, instr, rule, special && special->meets)) return false;
  } else if (!rule(l, instr)) {
    return false;
  }
  if (special && special->meets) l->count_op = SIZE_MAX;
  if (l->program->profile && takes_long(instr)) lower_emit(l, sim_op_turn);
  return !l->code;
}

static uint32_t align_up(uint32_t value, uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

static bool lay_out_registers(lowering *l) {
  uint32_t counts[4] = {0};
  const ptx_func *f = l->source;
  for (int i = 0; i < f->reg_count; i++) {
    if (lower_shape(f->regs[i].type)) continue;
    return lower_fail(l, PG_UNSUPPORTED, "the simulator does not know registers of type .%s (%s)",
                      ptx_type_name(f->regs[i].type), f->regs[i].name);
  }
  l->code = lower_allocate(f, l->slot, counts, l->error);
  if (l->code) return false;
  uint32_t p = 64, four, eight; /* offset 0 means "none" */
  l->temp_p = p + counts[0] * BYTES_P;
  four = align_up(l->temp_p + LOWER_TEMPS * BYTES_P, 64);
  l->temp_4 = four + counts[1] * BYTES_4;
  eight = l->temp_4 + LOWER_TEMPS * BYTES_4;
  l->temp_8 = eight + counts[2] * BYTES_8;
  uint32_t sixteen = l->temp_8 + LOWER_TEMPS * BYTES_8;
  l->out->frame_bytes = sixteen + counts[3] * 2 * BYTES_8;
  if (l->out->frame_bytes > FRAME_MAX) {
    return lower_fail(l, PG_UNSUPPORTED, "%s keeps too many values in registers at once", f->name);
  }
  for (int i = 0; i < f->reg_count; i++) {
    char shape = lower_shape(f->regs[i].type);
    l->slot[i] = shape == 'p'   ? p + l->slot[i] * BYTES_P
                 : shape == '4' ? four + l->slot[i] * BYTES_4
                 : shape == '8' ? eight + l->slot[i] * BYTES_8
                                : sixteen + l->slot[i] * 2 * BYTES_8;
  }
  return true;
}

static bool lay_out_params(lowering *l) {
  const ptx_func *f = l->source;
  l->out->param_offset = calloc((size_t)f->param_count + 1, sizeof(uint32_t));
  if (!l->out->param_offset) return lower_fail(l, PG_MEMORY, "no memory to lower %s", f->name);
  uint64_t offset = 0;
  for (int i = 0; i < f->param_count; i++) {
    const ptx_var *v = &f->params[i];
    offset = (offset + v->align - 1) / v->align * v->align;
    l->out->param_offset[i] = (uint32_t)offset;
    offset += v->count * ptx_type_bytes(v->type);
    l->line = v->line;
    if (offset > 32764)
      return lower_fail(l, PG_UNSUPPORTED, "%s has over 32764 bytes of parameters", f->name);
  }
  l->out->param_bytes = (uint32_t)offset;
  return true;
}

/* Shared variables stand apart, so that running past one does not land in the next. */
static bool add_shared(lowering *l, const ptx_var *v, const ptx_func *owner, uint64_t *offset) {
  enum { GAP = 128 };
  uint64_t align = v->align > 16 ? v->align : 16;
  sim_func *out = l->out;
  if (v->count == 0) { /* extern __shared__ x[]: all such names are one block at the end */
    out->dynamic_shared = true;
    return true;
  }
  *offset = (*offset + align - 1) / align * align;
  uint64_t bytes = v->count * ptx_type_bytes(v->type);
  /* Other kernels' variables only take room, so that functions find theirs at one place. */
  if (!owner || owner == l->source || !owner->is_entry)
    out->shared[out->shared_count++] = (sim_variable){v->name, owner, *offset, bytes};
  *offset += bytes + GAP;
  if (*offset < 1u << 24) return true;
  l->line = v->line;
  return lower_fail(l, PG_UNSUPPORTED, "with %s there are over 16 MiB of shared memory", v->name);
}

static bool has_functions(const ptx_module *m) {
  for (int i = 0; i < m->func_count; i++) {
    if (!m->funcs[i].is_entry && !m->funcs[i].is_extern) return true;
  }
  return false;
}

static bool asks_for_reserved(const ptx_func *f) {
  static const char name[] = SIM_RESERVED_NAME;
  for (int i = 0; i < f->instr_count; i++) {
    const ptx_instr *instr = &f->body[i];
    for (int k = 0; k < instr->operand_count; k++) {
      const ptx_operand *o = &instr->operands[k];
      if (o->kind == PTX_OP_SPECIAL && strncmp(o->name, name, sizeof name - 1) == 0) return true;
    }
  }
  return false;
}

/* A GPU keeps a part of shared memory for its system, and cooperative groups use some of that. Here
 * it is there when the module asks for it, at the start. */
static uint64_t reserve(lowering *l) {
  const ptx_module *m = l->program->source;
  for (int i = 0; i < m->func_count; i++) {
    if (!asks_for_reserved(&m->funcs[i])) continue;
    l->out->shared[l->out->shared_count++] =
        (sim_variable){"reserved shared memory", NULL, 0, SIM_RESERVED_SHARED};
    l->out->reserved_shared = SIM_RESERVED_SHARED;
    return SIM_RESERVED_SHARED + 128;
  }
  return 0;
}

static size_t count_variables(const ptx_module *m) {
  size_t count = (size_t)m->var_count;
  for (int i = 0; i < m->func_count; i++) count += (size_t)m->funcs[i].var_count;
  return count;
}

static bool lay_out_shared(lowering *l) {
  const ptx_module *m = l->program->source;
  bool all = has_functions(m);
  l->out->shared = calloc(count_variables(m) + 2, sizeof *l->out->shared);
  if (!l->out->shared) return lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
  uint64_t offset = reserve(l);
  for (int i = 0; i < m->var_count; i++) {
    if (m->vars[i].space == PTX_SHARED && !add_shared(l, &m->vars[i], NULL, &offset)) return false;
  }
  for (int k = 0; k < m->func_count; k++) {
    const ptx_func *f = &m->funcs[k];
    for (int i = 0; i < f->var_count && (all || f == l->source); i++) {
      if (f->vars[i].space == PTX_SHARED && !add_shared(l, &f->vars[i], f, &offset)) return false;
    }
  }
  offset =
      (offset + 127) / 128 * 128; /* dynamic shared memory starts here, for every of its names */
  for (int i = 0; i < m->var_count; i++) {
    if (m->vars[i].space != PTX_SHARED || m->vars[i].count) continue;
    l->out->shared[l->out->shared_count++] = (sim_variable){m->vars[i].name, NULL, offset, 0};
  }
  l->out->shared_bytes = offset;
  return true;
}

static bool store_presets(lowering *l) {
  sim_func *out = l->out;
  out->presets = calloc(l->constant_count + 1, sizeof *out->presets);
  if (!out->presets) return lower_fail(l, PG_MEMORY, "no memory to lower %s", l->source->name);
  for (size_t i = 0; i < l->constant_count; i++) {
    const constant *c = &l->constants[i];
    out->presets[i] = (sim_preset){c->slot, c->shape == '8', c->special, c->value};
  }
  out->preset_count = l->constant_count;
  return true;
}

static pg_code lower_function(sim_program *program, const ptx_func *source, sim_func *out,
                              const char *name, pg_error *error) {
  lowering l = {.program = program,
                .source = source,
                .out = out,
                .name = name,
                .error = error,
                .count_op = SIZE_MAX,
                .line = source->line,
                .at = (uint32_t)source->instr_count};
  out->source = source;
  out->program = program;
  l.slot = calloc((size_t)source->reg_count + 1, sizeof *l.slot);
  l.label_op = calloc((size_t)source->instr_count + 1, sizeof *l.label_op);
  l.ops = calloc(64, sizeof *l.ops);
  l.op_capacity = 64;
  if (!l.slot || !l.label_op || !l.ops) {
    l.code = pg_fail(error, PG_MEMORY, "no memory to lower %s", source->name);
    goto out;
  }
  if (!lay_out_registers(&l) || !lay_out_params(&l) || !lay_out_shared(&l) || !lower_frame(&l))
    goto out;
  lower_emit(&l, sim_op_join); /* so that index 0 is never what lower_target means by a label */
  l.at = 0;
  if (!lower_prologue(&l)) goto out;
  for (l.at = 0; l.at < (uint32_t)source->instr_count; l.at++) {
    if (!lower_one(&l)) goto out;
  }
  l.at = source->instr_count ? (uint32_t)source->instr_count - 1 : 0;
  l.used_p = l.used_4 = l.used_8 = 0;
  lower_ret(&l, NULL);
  if (l.code || !store_presets(&l)) goto out;
  resolve_targets(&l);
  out->ops = l.ops;
  out->op_count = l.op_count;
  l.ops = NULL;
out:
  free(l.slot);
  free(l.label_op);
  free(l.var_offset);
  free(l.ops);
  free(l.constants);
  free(l.fixups);
  return l.code;
}

static bool make_functions(sim_program *p) {
  const ptx_module *m = p->source;
  size_t n = (size_t)m->func_count + 1;
  p->funcs = calloc(n, sizeof *p->funcs);
  p->callees = calloc(n, sizeof *p->callees);
  p->by_index = calloc(n, sizeof *p->by_index);
  if (!p->funcs || !p->callees || !p->by_index) return false;
  for (int i = 0; i < m->func_count; i++) {
    if (m->funcs[i].is_entry || m->funcs[i].is_extern) continue;
    p->by_index[i] = &p->callees[p->callee_count];
    p->by_index[i]->index = (uint32_t)p->callee_count++;
  }
  return true;
}

/* sim:check: which instruction a memory micro-op is of, by its number in the program. */
static void list_function_sites(sim_program *p, const sim_func *f) {
  for (size_t k = 0; k + 1 < f->op_count; k++) {
    if (f->ops[k].fn != sim_op_check) continue;
    p->sites[f->ops[k + 1].cache] = &f->source->body[f->ops[k].source];
  }
}

static bool list_sites(sim_program *p) {
  if (!p->check) return true;
  p->sites = calloc((size_t)p->cache_count + 1, sizeof *p->sites);
  if (!p->sites) return false;
  for (size_t i = 0; i < p->func_count; i++) {
    list_function_sites(p, &p->funcs[i]);
    p->funcs[i].orders = sim_orders(p->funcs[i].source);
  }
  for (size_t i = 0; i < p->callee_count; i++) {
    list_function_sites(p, &p->callees[i]);
    p->callees_order |= sim_orders(p->callees[i].source);
  }
  return true;
}

pg_code sim_lower(ptx_module *source, const char *name, uint64_t *var_address,
                  const sim_program_kind *kind, sim_program **out, pg_error *error) {
  sim_program *p = calloc(1, sizeof *p);
  if (!p) return pg_fail(error, PG_MEMORY, "no memory for a module");
  p->source = source;
  p->var_address = var_address;
  p->profile = kind->profile;
  p->check = kind->check;
  pg_code code = PG_OK;
  if (!make_functions(p)) code = pg_fail(error, PG_MEMORY, "no memory for a module");
  for (int i = 0; i < source->func_count && !code; i++) {
    const ptx_func *f = &source->funcs[i];
    if (f->is_extern) continue;
    sim_func *func = f->is_entry ? &p->funcs[p->func_count++] : p->by_index[i];
    code = lower_function(p, f, func, name, error);
    func->first_site = p->instr_count;
    p->instr_count += (uint32_t)f->instr_count;
  }
  if (!code && !list_sites(p)) code = pg_fail(error, PG_MEMORY, "no memory for a module");
  if (code) {
    p->source = NULL; /* the caller keeps both */
    p->var_address = NULL;
    sim_program_free(p);
    return code;
  }
  lower_stacks(p);
  *out = p;
  return PG_OK;
}

static void free_functions(sim_func *funcs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    sim_func *f = &funcs[i];
    lower_free_calls(f);
    free(f->ops);
    free(f->presets);
    free(f->param_offset);
    free(f->shared);
  }
  free(funcs);
}

void sim_program_free(sim_program *p) {
  if (!p) return;
  free_functions(p->funcs, p->func_count);
  free_functions(p->callees, p->callee_count);
  free(p->by_index);
  free(p->sites);
  free(p->var_address);
  ptx_free(p->source);
  free(p);
}
