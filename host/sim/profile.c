/* Counters of sim:profile: what each PTX instruction did, named and meant as Nsight Compute does.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "control.h"

/* A basic block starts: every instruction of it is executed once more. */
const sim_op *sim_op_count(sim_warp *w, const sim_op *op) {
  uint64_t lanes = (uint64_t)__builtin_popcount(w->mask);
  pg_counters *c = sim_counters(w, op);
  for (uint64_t i = 0; i < op->imm; i++, c++) {
    c->warp_instructions++;
    c->thread_instructions += lanes;
  }
  return op + 1;
}

/* Addresses of the active lanes, in the order of the lanes. */
static uint32_t gather(const sim_warp *w, const sim_op *op, uint64_t out[SIM_LANES]) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < SIM_LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    uint64_t base = op->narrow == 2   ? 0
                    : op->narrow == 1 ? ((const uint32_t *)(const void *)(w->regs + op->a))[i]
                                      : ((const uint64_t *)(const void *)(w->regs + op->a))[i];
    out[n++] = base + op->imm;
  }
  return n;
}

enum { UNITS = SIM_LANES * 5 }; /* 32 accesses of up to 64 bytes each, odd ones in pieces */

/* Values seen, each once, in the order in which they came. */
typedef struct once {
  uint32_t count;
  uint64_t *value;    /* room for UNITS */
  uint8_t place[256]; /* by hash: index in value + 1, 0 none */
} once;

static bool is_new(once *s, uint64_t value) {
  if (s->count && s->value[s->count - 1] == value) return false; /* neighbours often share */
  uint8_t at = (uint8_t)(value * 0x9e3779b97f4a7c15ull >> 56);
  for (; s->place[at]; at++) {
    if (s->value[s->place[at] - 1] == value) return false;
  }
  if (s->count == UNITS) return false;
  s->value[s->count++] = value;
  s->place[at] = (uint8_t)s->count;
  return true;
}

/* Distinct values of address / unit, a power of two; an access of `bytes` may cover several. */
static uint32_t distinct(const uint64_t *address, uint32_t n, uint32_t bytes, uint32_t unit,
                         uint64_t found[UNITS]) {
  once s = {.value = found};
  int shift = __builtin_ctz(unit);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t last = (address[i] + bytes - 1) >> shift;
    for (uint64_t at = address[i] >> shift; at <= last; at++) is_new(&s, at);
  }
  return s.count;
}

/* Passes over the 32 four-byte banks: the largest number of distinct words that fall into one bank.
 */
static uint32_t wavefronts(const uint64_t *address, uint32_t n, uint32_t bytes) {
  uint32_t words = bytes > 4 ? bytes / 4 : 1, per_pass = SIM_LANES / words, total = 0;
  for (uint32_t first = 0; first < n; first += per_pass) {
    uint32_t end = first + per_pass < n ? first + per_pass : n, most = 1;
    uint64_t seen[SIM_LANES];
    uint32_t count = 0, load[SIM_LANES] = {0};
    for (uint32_t i = first; i < end; i++) {
      for (uint32_t k = 0; k < words; k++) {
        uint64_t word = address[i] / 4 + k;
        uint32_t j = 0;
        while (j < count && seen[j] != word) j++;
        if (j < count) continue;
        seen[count++] = word;
        uint32_t hits = ++load[word & 31];
        if (hits > most) most = hits;
      }
    }
    total += most;
  }
  return total;
}

/* ---- caches ---- */

/* What one request asks for. */
typedef struct request {
  sim_ask kind;
  bool past_l1;
  uint32_t n;
  uint64_t sector[UNITS];
  uint32_t bytes[UNITS]; /* a store's, of each sector, a bit each */
} request;

static uint32_t multiprocessor(const sim_warp *w) {
  return (uint32_t)(w->block->index % SIM_MULTIPROCESSORS);
}

static bool asks_for(const request *r, uint64_t sector) {
  for (uint32_t i = 0; i < r->n; i++) {
    if (r->sector[i] == sector) return true;
  }
  return false;
}

static void count_l2(sim_caches *caches, pg_counters *c, uint32_t sm, const request *r,
                     uint64_t sector) {
  bool hit = sim_l2_access(caches, sm, sector, r->kind);
  c->l2_hit_sectors += hit;
  c->l2_sectors += hit || asks_for(r, sector ^ 1) ? 1 : 1 + sim_l2_more(caches, sm, sector);
}

static void count_caches(sim_warp *w, pg_counters *c, const request *r) {
  sim_caches *caches = w->launch->caches;
  if (!caches) return;
  uint32_t sm = multiprocessor(w);
  for (uint32_t i = 0; i < r->n; i++) sim_caches_expect(caches, sm, r->sector[i]);
  for (uint32_t i = 0; i < r->n; i++) {
    uint64_t sector = r->sector[i];
    bool hit = false;
    if (r->kind == SIM_ASK_ATOMIC || r->past_l1)
      sim_l1_drop(caches, sm, sector);
    else if (r->kind == SIM_ASK_STORE)
      hit = sim_l1_store(caches, sm, sector, r->bytes[i] == ~0u);
    else
      hit = sim_l1_load(caches, sm, sector);
    c->l1_sectors++;
    c->l1_hit_sectors += hit;
    if (!hit || r->kind != SIM_ASK_LOAD) count_l2(caches, c, sm, r, sector); /* stores go through */
  }
}

/* ---- atomics that meet ---- */

/* The addresses with the most collisions: a new one takes the place of the coldest and inherits
 * its count ("space saving"), so a count is too high by the least in the list at most. */
static void note_hot(sim_worker *worker, uint64_t address, uint64_t count) {
  pg_hot *coldest = &worker->hot[0];
  for (int i = 0; i < SIM_HOT; i++) {
    pg_hot *h = &worker->hot[i];
    if (h->collisions && h->address == address) {
      h->collisions += count;
      return;
    }
    if (h->collisions < coldest->collisions) coldest = h;
  }
  *coldest = (pg_hot){address, coldest->collisions + count};
}

static void count_collisions(sim_warp *w, pg_counters *c, const uint64_t *address, uint32_t n,
                             const uint64_t *unit, uint32_t units, uint32_t bytes) {
  c->global_atomic_collisions += n - units;
  for (uint32_t i = 0; i < units && units < n; i++) {
    uint64_t same = 0;
    for (uint32_t j = 0; j < n; j++) same += address[j] / bytes == unit[i];
    if (same > 1) note_hot(w->worker, unit[i] * bytes, same - 1);
  }
}

/* ---- one access ---- */

/* Lanes that meet on an address are served one after the other: the first of each in one pass, the
 * second of each in another. A pass counts the sectors that it touches. */
static uint32_t sectors_by_pass(const uint64_t *address, uint32_t n, uint32_t bytes,
                                uint64_t sector[UNITS]) {
  uint64_t place[UNITS];
  once s = {.value = place};
  for (uint32_t i = 0; i < n; i++) {
    uint32_t pass = 0;
    for (uint32_t k = 0; k < i; k++) pass += address[k] / bytes == address[i] / bytes;
    if (is_new(&s, address[i] / 32 * SIM_LANES + pass)) sector[s.count - 1] = address[i] / 32;
  }
  return s.count;
}

static void count_atomic(sim_warp *w, pg_counters *c, const uint64_t *address, uint32_t n,
                         uint32_t bytes) {
  uint64_t unit[UNITS];
  request r;
  r.kind = SIM_ASK_ATOMIC;
  uint32_t units = distinct(address, n, 1, bytes, unit);
  count_collisions(w, c, address, n, unit, units, bytes);
  r.n = units == n ? distinct(address, n, bytes, 32, r.sector)
                   : sectors_by_pass(address, n, bytes, r.sector);
  c->global_atomic_requests++;
  c->global_atomic_sectors += r.n;
  c->global_atomic_lanes += n;
  count_caches(w, c, &r);
}

/* Which bytes of its sectors a store writes. */
static void note_bytes(request *r, const uint64_t *address, uint32_t n, uint32_t bytes) {
  memset(r->bytes, 0, r->n * sizeof *r->bytes);
  for (uint32_t i = 0, j = 0; i < n; i++) {
    for (uint64_t at = address[i], end = at + bytes, next; at < end; at = next) {
      next = (at / 32 + 1) * 32 < end ? (at / 32 + 1) * 32 : end;
      while (r->sector[j] != at / 32) j = (j + 1) % r->n; /* a neighbour's, or the next */
      r->bytes[j] |= (uint32_t)(((1ull << (next - at)) - 1) << at % 32);
    }
  }
}

static void count_load(sim_warp *w, pg_counters *c, const uint64_t *address, uint32_t n,
                       uint32_t bytes, bool past_l1) {
  request r;
  r.kind = SIM_ASK_LOAD;
  r.past_l1 = past_l1;
  r.n = distinct(address, n, bytes, 32, r.sector);
  c->global_load_requests++;
  c->global_load_sectors += r.n;
  c->global_load_bytes += (uint64_t)n * bytes;
  count_caches(w, c, &r);
}

static void count_store(sim_warp *w, pg_counters *c, const uint64_t *address, uint32_t n,
                        uint32_t bytes, bool past_l1) {
  request r;
  r.kind = SIM_ASK_STORE;
  r.past_l1 = past_l1;
  r.n = distinct(address, n, bytes, 32, r.sector);
  note_bytes(&r, address, n, bytes);
  c->global_store_requests++;
  c->global_store_sectors += r.n;
  c->global_store_bytes += (uint64_t)n * bytes;
  count_caches(w, c, &r);
}

/* A word of local memory lies beside the same word of the other lanes: eight lanes a sector. */
static void count_local(sim_warp *w, pg_counters *c, const sim_op *op, const uint64_t *address,
                        uint32_t n) {
  uint64_t place[SIM_LANES], seen[UNITS];
  uint32_t lane = 0, bytes = (uint32_t)op->bytes * op->count;
  for (uint32_t i = 0; i < n; i++, lane++) {
    while (!(w->mask >> lane & 1)) lane++;
    place[i] = (address[i] - SIM_LOCAL_WINDOW) / 4 * 128 + lane * 4;
  }
  uint32_t sectors = distinct(place, n, 1, 32, seen) * (bytes > 4 ? bytes / 4 : 1);
  if (op->store) {
    c->local_store_requests++;
    c->local_store_sectors += sectors;
  } else {
    c->local_load_requests++;
    c->local_load_sectors += sectors;
  }
}

/* Counts for the memory micro-op that follows, which imm says goes past L1 or not; the space is the
 * one that its first lane's address lies in. */
const sim_op *sim_op_count_memory(sim_warp *w, const sim_op *op) {
  uint64_t address[SIM_LANES];
  uint32_t n = gather(w, op + 1, address);
  pg_counters *c = sim_counters(w, op);
  if (!n || op[1].e == SIM_COUNTED) return op + 1;
  if (address[0] < SIM_SHARED_WINDOW) {
    uint32_t bytes = (uint32_t)op[1].bytes * op[1].count;
    if (op[1].e)
      count_atomic(w, c, address, n, bytes * op[1].e);
    else if (op[1].store)
      count_store(w, c, address, n, bytes, op->imm != 0);
    else
      count_load(w, c, address, n, bytes, op->imm != 0);
  } else if (address[0] < SIM_LOCAL_WINDOW) {
    c->shared_requests++;
    c->shared_wavefronts += wavefronts(address, n, (uint32_t)op[1].bytes * op[1].count);
  } else if (address[0] < SIM_PARAM_WINDOW) {
    count_local(w, c, op + 1, address, n);
  }
  return op + 1;
}

const sim_op *sim_op_empty_l1(sim_warp *w, const sim_op *op) {
  if (w->launch->caches) sim_l1_empty(w->launch->caches, multiprocessor(w));
  return op + 1;
}

/* ---- after the launch ---- */

void sim_add_counters(pg_counters *to, const pg_counters *from) {
#define PG_X(name, text) to->name += from->name;
  PG_COUNTERS(PG_X)
#undef PG_X
}

static bool counted(const pg_counters *c) {
  return c->warp_instructions != 0;
}

/* The place a user knows: where the code of a header was inlined. */
static const ptx_place *outermost(const ptx_place *place) {
  while (place && place->inlined_at) place = place->inlined_at;
  return place;
}

static pg_line *line_of(sim_profile *p, const char *file, int number) {
  for (size_t i = p->count; i-- > 0;) {
    pg_line *l = &p->lines[i];
    if (l->line == number && strcmp(l->file, file) == 0) return l;
  }
  if (p->count == p->room) {
    size_t room = p->room ? 2 * p->room : 64;
    pg_line *lines = realloc(p->lines, room * sizeof *lines);
    if (!lines) return NULL;
    p->lines = lines;
    p->room = room;
  }
  pg_line *l = &p->lines[p->count++];
  *l = (pg_line){.file = file, .line = number};
  return l;
}

static bool add_function(sim_profile *p, const sim_func *f, const pg_counters *sites,
                         pg_counters *sum) {
  for (int i = 0; i < f->source->instr_count; i++) {
    const pg_counters *c = &sites[f->first_site + (uint32_t)i];
    if (!counted(c)) continue;
    sim_add_counters(sum, c);
    const ptx_place *place = outermost(f->source->body[i].place);
    if (!place) continue;
    pg_line *l = line_of(p, place->file ? place->file : "", place->line);
    if (!l) return false;
    sim_add_counters(&l->counters, c);
  }
  return true;
}

/* Sorted, most collisions first. */
static void add_hot(pg_profile *shown, pg_hot hot) {
  int last = 0;
  while (last < PG_HOT_MAX - 1 && shown->hot[last].address != hot.address) last++;
  if (shown->hot[last].address == hot.address) hot.collisions += shown->hot[last].collisions;
  if (hot.collisions <= shown->hot[last].collisions) return;
  for (; last > 0 && shown->hot[last - 1].collisions < hot.collisions; last--)
    shown->hot[last] = shown->hot[last - 1];
  shown->hot[last] = hot;
}

bool sim_profile_add(sim_profile *p, sim_launch *l) {
  const sim_program *program = l->func->program;
  bool ok = true;
  for (int k = 0; l->workers && k < l->worker_count; k++) {
    sim_worker *w = &l->workers[k];
    for (size_t i = 0; w->sites && ok && i < program->func_count; i++)
      ok = add_function(p, &program->funcs[i], w->sites, &w->counters);
    for (size_t i = 0; w->sites && ok && i < program->callee_count; i++)
      ok = add_function(p, &program->callees[i], w->sites, &w->counters);
    for (int i = 0; i < SIM_HOT; i++) add_hot(&p->shown, w->hot[i]);
    free(w->sites);
    w->sites = NULL;
  }
  p->shown.lines = p->lines;
  p->shown.line_count = p->count;
  return ok;
}

void sim_profile_reset(sim_profile *p) {
  free(p->lines);
  *p = (sim_profile){0};
}
