/* Register allocation: liveness by data flow over basic blocks, then linear scan. Slots are private
 * to each lane, so an allocation that is right for one thread is right for a warp whose lanes are
 * at different places. */
#include <stdlib.h>
#include <string.h>

#include "lower.h"

char lower_shape(ptx_type type) {
  switch (type) {
  case PTX_PRED: return 'p';
  case PTX_B64:
  case PTX_U64:
  case PTX_S64:
  case PTX_F64: return '8';
  case PTX_B128: return 'x';
  case PTX_NONE: return 0;
  default: return '4';
  }
}

/* ---- what an instruction reads and writes ---- */

static void visit_operand(const ptx_operand *o, lower_visit *visit, void *context, bool write) {
  if (o->kind == PTX_OP_REG) visit(context, o->reg, write);
  /* The registers of an address are read even where the operand is a destination. */
  bool inner = write && o->kind != PTX_OP_ADDRESS;
  for (int i = 0; i < o->count; i++) visit_operand(&o->items[i], visit, context, inner);
}

static bool has_destination(const ptx_instr *instr) {
  /* mbarrier.arrive state, [a] writes; mbarrier.init [a], n does not. */
  if (strcmp(instr->opcode, "mbarrier") == 0)
    return instr->operand_count > 0 && instr->operands[0].kind != PTX_OP_ADDRESS;
  /* call (results), f, (arguments); without results the first operand may be a pointer to call. */
  if (strcmp(instr->opcode, "call") == 0)
    return instr->operand_count > 0 && instr->operands[0].kind == PTX_OP_TUPLE;
  static const char *const none[] = {
      "st",        "red",     "bra",     "brx",           "bar",      "barrier",  "exit",
      "ret",       "trap",    "brkpt",   "membar",        "fence",    "prefetch", "prefetchu",
      "nanosleep", "pmevent", "discard", "applypriority", "stmatrix", "cp"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    if (strcmp(instr->opcode, none[i]) == 0)
      return strcmp(instr->opcode, "bar") == 0 && instr->mod_count > 0 &&
             strcmp(instr->mods[0], "red") == 0;
  }
  return true;
}

void lower_registers(const ptx_instr *instr, lower_visit *visit, void *context) {
  if (!instr->opcode) return;
  bool dest = has_destination(instr);
  for (int i = dest; i < instr->operand_count; i++) {
    visit_operand(&instr->operands[i], visit, context, false);
  }
  if (instr->guard >= 0) visit(context, instr->guard, false);
  if (!dest || instr->operand_count == 0) return;
  /* Under a guard the old value survives in some lanes: the destination is read too. */
  if (instr->guard >= 0) visit_operand(&instr->operands[0], visit, context, false);
  visit_operand(&instr->operands[0], visit, context, true);
}

/* ---- liveness ---- */

typedef uint64_t word;

/* Words of liveness sets: 512 MiB. A function that needs more is no kernel. */
static const size_t SETS_MAX = 1u << 26;

typedef struct block {
  size_t first, end; /* body indices */
  int successors[2];
  word *in, *out, *use, *def;
} block;

typedef struct liveness {
  const ptx_func *func;
  size_t words;
  block *blocks;
  size_t block_count;
  int *block_of; /* by body index of labels */
  word *sets;
  block *current;
} liveness;

static bool ends_block(const ptx_instr *i) {
  return i->opcode && (strcmp(i->opcode, "bra") == 0 || strcmp(i->opcode, "brx") == 0 ||
                       strcmp(i->opcode, "exit") == 0 || strcmp(i->opcode, "ret") == 0 ||
                       strcmp(i->opcode, "trap") == 0);
}

static void visit_block(void *context, int reg, bool write) {
  block *b = ((liveness *)context)->current;
  word bit = (word)1 << (reg & 63);
  if (write)
    b->def[reg >> 6] |= bit;
  else if (!(b->def[reg >> 6] & bit))
    b->use[reg >> 6] |= bit;
}

static bool split(liveness *v) {
  const ptx_func *f = v->func;
  size_t n = (size_t)f->instr_count;
  v->blocks = calloc(n + 1, sizeof *v->blocks);
  v->block_of = calloc(n + 1, sizeof *v->block_of);
  if (!v->blocks || !v->block_of) return false;
  for (size_t i = 0; i < n; i++) {
    bool label = !f->body[i].opcode;
    bool fresh = i == 0 || ends_block(&f->body[i - 1]) || (label && f->body[i - 1].opcode);
    if (fresh) v->blocks[v->block_count++].first = i;
    v->blocks[v->block_count - 1].end = i + 1;
    v->block_of[i] = (int)v->block_count - 1;
  }
  if (v->block_count > SETS_MAX / 4 / (v->words + 1)) return false;
  v->sets = calloc(v->block_count * 4 * v->words + 1, sizeof(word));
  if (!v->sets) return false;
  for (size_t i = 0; i < v->block_count; i++) {
    block *b = &v->blocks[i];
    b->in = v->sets + i * 4 * v->words;
    b->out = b->in + v->words;
    b->use = b->out + v->words;
    b->def = b->use + v->words;
    v->current = b;
    for (size_t k = b->first; k < b->end; k++) lower_registers(&f->body[k], visit_block, v);
  }
  return true;
}

static const struct ptx_targets *find_targets(const ptx_func *f, const char *label) {
  for (int i = 0; i < f->targets_count; i++) {
    if (f->targets[i].label == label) return &f->targets[i];
  }
  return NULL;
}

static int label_index(const ptx_func *f, const char *name) {
  for (int i = 0; i < f->instr_count; i++) {
    if (!f->body[i].opcode && f->body[i].operands[0].name == name) return i;
  }
  return -1;
}

static bool flow(block *b, const block *successor, size_t words) {
  bool changed = false;
  for (size_t k = 0; k < words; k++) {
    word out = b->out[k] | successor->in[k];
    changed |= out != b->out[k];
    b->out[k] = out;
  }
  return changed;
}

/* Union of what the successors need; true when it grew. */
static bool flow_out(liveness *v, size_t index) {
  block *b = &v->blocks[index];
  const ptx_func *f = v->func;
  const ptx_instr *last = &f->body[b->end - 1];
  bool changed = false, falls = true;
  if (ends_block(last)) {
    falls = last->guard >= 0;
    if (strcmp(last->opcode, "bra") == 0 && last->operand_count == 1) {
      changed |= flow(b, &v->blocks[v->block_of[last->operands[0].bits]], v->words);
    } else if (strcmp(last->opcode, "brx") == 0 && last->operand_count == 2) {
      const struct ptx_targets *t = find_targets(f, last->operands[1].name);
      for (int i = 0; t && i < t->count; i++) {
        int at = label_index(f, t->names[i]);
        if (at >= 0) changed |= flow(b, &v->blocks[v->block_of[at]], v->words);
      }
    }
  }
  if (falls && index + 1 < v->block_count) changed |= flow(b, &v->blocks[index + 1], v->words);
  return changed;
}

static void solve(liveness *v) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = v->block_count; i-- > 0;) {
      block *b = &v->blocks[i];
      changed |= flow_out(v, i);
      for (size_t k = 0; k < v->words; k++) {
        word in = b->use[k] | (b->out[k] & ~b->def[k]);
        changed |= in != b->in[k];
        b->in[k] = in;
      }
    }
  }
}

/* ---- intervals and linear scan ---- */

typedef struct interval {
  int reg;
  size_t first, last;
} interval;

typedef struct extent {
  interval *intervals;
  size_t at;
} extent;

static void touch(interval *v, size_t at) {
  if (at < v->first) v->first = at;
  if (v->last == SIZE_MAX || at > v->last) v->last = at;
}

static void visit_extent(void *context, int reg, bool write) {
  (void)write;
  extent *e = context;
  touch(&e->intervals[reg], e->at);
}

static void find_intervals(const liveness *v, interval *intervals) {
  const ptx_func *f = v->func;
  extent e = {.intervals = intervals};
  for (e.at = 0; e.at < (size_t)f->instr_count; e.at++) {
    lower_registers(&f->body[e.at], visit_extent, &e);
  }
  for (size_t i = 0; i < v->block_count; i++) {
    const block *b = &v->blocks[i];
    for (int r = 0; r < f->reg_count; r++) {
      word bit = (word)1 << (r & 63);
      if (b->in[r >> 6] & bit) touch(&intervals[r], b->first);
      if (b->out[r >> 6] & bit) touch(&intervals[r], b->end - 1);
    }
  }
}

static int by_first(const void *a, const void *b) {
  const interval *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  return x->reg - y->reg;
}

/* ends[k]: last position at which index k of this shape is taken. First fit keeps the frame small.
 */
typedef struct pool {
  size_t *ends;
  uint32_t count;
} pool;

static uint32_t take_index(pool *p, const interval *v) {
  uint32_t k = 0;
  while (k < p->count && p->ends[k] >= v->first) k++;
  if (k == p->count) p->count++;
  p->ends[k] = v->last;
  return k;
}

static int shape_number(ptx_type type) {
  char shape = lower_shape(type);
  return shape == 'p' ? 0 : shape == '4' ? 1 : shape == '8' ? 2 : 3;
}

pg_code lower_allocate(const ptx_func *func, uint32_t *index, uint32_t counts[4], pg_error *error) {
  pg_code code = PG_MEMORY;
  size_t n = (size_t)func->reg_count;
  liveness v = {.func = func, .words = (n + 63) / 64};
  interval *intervals = calloc(n + 1, sizeof *intervals);
  pool pools[4] = {{0}};
  for (int i = 0; i < 4; i++) pools[i].ends = calloc(n + 1, sizeof(size_t));
  if (!intervals || !pools[0].ends || !pools[1].ends || !pools[2].ends || !pools[3].ends ||
      !split(&v)) {
    pg_fail(error, PG_MEMORY, "no memory to allocate the registers of %s", func->name);
    goto out;
  }
  solve(&v);
  for (size_t i = 0; i < n; i++) intervals[i] = (interval){(int)i, SIZE_MAX, SIZE_MAX};
  find_intervals(&v, intervals);
  qsort(intervals, n, sizeof *intervals, by_first);
  for (size_t i = 0; i < n; i++) {
    const interval *it = &intervals[i];
    if (it->first == SIZE_MAX) break; /* never used, and so are the rest */
    index[it->reg] = take_index(&pools[shape_number(func->regs[it->reg].type)], it);
  }
  for (int i = 0; i < 4; i++) counts[i] = pools[i].count;
  code = PG_OK;
out:
  for (int i = 0; i < 4; i++) free(pools[i].ends);
  free(intervals);
  free(v.blocks);
  free(v.block_of);
  free(v.sets);
  return code;
}

/* ---- loops that wait ---- */

typedef struct spin {
  const ptx_func *func;
  size_t to, from;
  bool written; /* a register that memory instructions use changes in the loop */
  int reg;
} spin;

static void visit_written(void *context, int reg, bool write) {
  spin *s = context;
  if (write && reg == s->reg) s->written = true;
}

static void visit_used(void *context, int reg, bool write) {
  spin *s = context;
  if (write) return;
  s->reg = reg;
  for (size_t i = s->to; i <= s->from && !s->written; i++) {
    lower_registers(&s->func->body[i], visit_written, s);
  }
}

bool lower_is_spin(const ptx_func *func, size_t to, size_t from) {
  enum { LONGEST = 24 };
  if (from < to || from - to > LONGEST) return false;
  spin s = {.func = func, .to = to, .from = from};
  bool reads = false;
  for (size_t i = to; i <= from; i++) {
    const char *op = func->body[i].opcode;
    if (!op) continue;
    if (!strcmp(op, "st") || !strcmp(op, "red") || !strcmp(op, "bar") || !strcmp(op, "call"))
      return false;
    if (strcmp(op, "ld") && strcmp(op, "atom")) continue;
    reads = true;
    lower_registers(&func->body[i], visit_used, &s);
  }
  return reads && !s.written;
}
