/* Rows: what warps did to 32 cells in a row, as a few marks of a whole warp each, for as long as
 * every access to the row is a warp's in a row and plainly in order. A mark stands for equal
 * records in its cells, so a row never knows more or less than they would. An access that is
 * anything else opens the row: its cells are filled from the marks and judged one by one. See
 * check.h. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ROW_CELLS = 1 << SIM_ROW_SHIFT, MARKS = 7 };

typedef enum kind { WRITE, STRONG, READ } kind;

/* Accesses of one warp at one time by one instruction. */
typedef struct mark {
  uint32_t cells;      /* a bit each; 0: free */
  uint32_t thread;     /* cell c is of thread + (c >> step) */
  uint32_t time, site; /* as in a sim_record; kind and step stand above the flags */
} mark;

typedef struct sim_row {
  _Alignas(64) uint32_t run;
  mark marks[MARKS];
} sim_row;

_Static_assert(sizeof(sim_row) == SIM_ROW_BYTES && sizeof(sim_cell) == SIM_CELL_BYTES,
               "lines of the processor's cache");

enum { KIND_SHIFT = SIM_SITE_BITS + 3, STEP_SHIFT = KIND_SHIFT + 2 };
enum { SITE_AND_FLAGS = (1 << KIND_SHIFT) - 1 };

static kind kind_of(const mark *m) {
  return m->site >> KIND_SHIFT & 3;
}

static uint32_t step_of(const mark *m) {
  return m->site >> STEP_SHIFT;
}

static uint32_t thread_of(const mark *m, uint32_t cell) {
  return m->thread + (cell >> step_of(m));
}

static uint32_t a_thread_of(const mark *m) {
  return thread_of(m, (uint32_t)__builtin_ctz(m->cells));
}

/* ---- what is in order ---- */

/* The lanes do the same to their cells as those of the mark: each thread meets itself. */
static bool same_lanes(const mark *m, const mark *now) {
  return m->thread == now->thread && step_of(m) == step_of(now);
}

/* When what the mark is of was done; copies: by all threads alike, or never. */
static uint32_t time_of(const sim_access *a, const mark *m) {
  if (!(m->time & SIM_COPYING)) return m->time;
  uint32_t time = sim_copied(a->w->block, a_thread_of(m), m->time);
  for (uint32_t rest = m->cells; rest; rest &= rest - 1) {
    uint32_t thread = thread_of(m, (uint32_t)__builtin_ctz(rest));
    if (sim_copied(a->w->block, thread, m->time) != time) return UINT32_MAX;
  }
  return time ? time : UINT32_MAX;
}

/* Nothing to object against, for any lane and cell. lone: not several lanes at one place. */
static bool settled(const sim_access *a, const mark *m, const mark *now, bool lone) {
  uint32_t thread = a_thread_of(m), time = time_of(a, m);
  if (time == UINT32_MAX) return false;
  if (kind_of(m) == READ && kind_of(now) == READ) return true;
  bool same_block = sim_same_block(thread, a_thread_of(now));
  if (kind_of(m) != WRITE && sim_both_strong(m->site, now->site, same_block)) return true;
  return (lone && same_lanes(m, now)) || sim_all_know(a->w, thread, time);
}

static bool all_settled(const sim_access *a, const sim_row *row, const mark *now, bool lone) {
  for (int i = 0; i < MARKS; i++) {
    const mark *m = &row->marks[i];
    if (m->cells & now->cells && !settled(a, m, now, lone)) return false;
  }
  return true;
}

/* ---- entering marks ---- */

static void erase(sim_row *row, uint32_t cells, bool strong_only) {
  for (int i = 0; i < MARKS; i++) {
    mark *m = &row->marks[i];
    if (!strong_only || kind_of(m) == STRONG) m->cells &= ~cells;
  }
}

/* Two readers are remembered of a cell, as in race.c: those that are ordered before this one, or
 * are it, make room; among others those of other blocks stay. */
static void make_room(const sim_access *a, sim_row *row, const mark *now) {
  uint32_t once = 0, twice = 0;
  for (int i = 0; i < MARKS; i++) {
    mark *m = &row->marks[i];
    if (kind_of(m) != READ || !(m->cells & now->cells)) continue;
    if (same_lanes(m, now) || sim_all_know(a->w, a_thread_of(m), m->time)) m->cells &= ~now->cells;
    twice |= once & m->cells & now->cells;
    once |= m->cells;
  }
  for (int others = 0; others < 2 && twice; others++) {
    for (int i = MARKS - 1; i >= 0; i--) {
      mark *m = &row->marks[i];
      if (kind_of(m) != READ || !(m->cells & twice)) continue;
      if (!others && !sim_same_block(a_thread_of(m), a_thread_of(now))) continue;
      uint32_t room = m->cells & twice;
      m->cells &= ~room;
      twice &= ~room;
    }
  }
}

/* False: no room. */
static bool add(sim_row *row, const mark *now) {
  mark *to = NULL;
  for (int i = 0; i < MARKS; i++) {
    mark *m = &row->marks[i];
    if (!m->cells) {
      if (!to) to = m;
    } else if (m->thread == now->thread && m->time == now->time && m->site == now->site &&
               a_thread_of(m) >> 5 == a_thread_of(now) >> 5) {
      m->cells |= now->cells;
      return true;
    }
  }
  if (to) *to = *now;
  return to;
}

static bool enter(const sim_access *a, sim_row *row, const mark *now) {
  if (kind_of(now) == READ)
    make_room(a, row, now);
  else
    erase(row, now->cells, kind_of(now) == STRONG);
  return add(row, now);
}

/* ---- opening a row ---- */

static bool is_global(const sim_access *a) {
  return a->address < SIM_SHARED_WINDOW;
}

/* Zeroed memory of a page. That of a block's shared memory is little. */
static void *take(const sim_access *a, size_t bytes) {
  sim_check *c = a->w->launch->check;
  if (atomic_load_explicit(&c->lost, memory_order_relaxed)) return NULL;
  void *at = is_global(a) ? sim_slabs_take(&c->shadow->slabs, bytes) : aligned_alloc(64, bytes);
  if (!at)
    atomic_store(&c->lost, true);
  else if (!is_global(a))
    memset(at, 0, bytes);
  return at;
}

static void give(const sim_access *a, void *at, size_t bytes) {
  if (is_global(a))
    sim_slabs_give(&a->w->launch->check->shadow->slabs, at, bytes);
  else
    free(at);
}

static bool make_cells(const sim_access *a, sim_page *page) {
  if (page->cells) return true;
  sim_cell *cells = take(a, sim_cells_bytes(page->shift));
  if (!cells) return false;
  atomic_store_explicit(&page->cells, (uintptr_t)cells | page->shift, memory_order_release);
  return true;
}

static void fill_cell(sim_cell *cell, const sim_row *row, uint32_t c) {
  int readers = 0;
  cell->run = row->run;
  cell->valued = false;
  memset(&cell->write, 0, sizeof *cell - offsetof(sim_cell, write));
  for (int i = 0; i < MARKS; i++) {
    const mark *m = &row->marks[i];
    if (!(m->cells >> c & 1)) continue;
    sim_record r = {thread_of(m, c), m->time, m->site & SITE_AND_FLAGS};
    if (kind_of(m) == READ)
      cell->read[readers++ & 1] = r;
    else
      *(kind_of(m) == WRITE ? &cell->write : &cell->strong) = r;
  }
}

static bool open_row(const sim_access *a, sim_page *page, uint32_t index) {
  if (sim_row_is_open(page, index)) return true;
  if (!make_cells(a, page)) return false;
  const sim_row *row = &page->rows[index];
  for (uint32_t c = 0; page->marked && row->run == a->run && c < ROW_CELLS; c++)
    fill_cell(sim_cells_at(page->cells) + index * ROW_CELLS + c, row, c);
  atomic_fetch_or_explicit(&page->opened[index / 64], 1ull << (index & 63), memory_order_release);
  return true;
}

/* ---- smaller cells ---- */

static void copy_cell(sim_cell *to, sim_cell *from, bool locks) {
  while (locks && atomic_flag_test_and_set_explicit(&from->lock, memory_order_acquire)) {
  }
  memcpy(&to->run, &from->run, sizeof *to - offsetof(sim_cell, run));
  if (locks) atomic_flag_clear_explicit(&from->lock, memory_order_release);
}

/* Cells that were replaced while others may have been looking at them, until the launch ends. */
struct sim_retired {
  struct sim_retired *next;
  void *cells;
  size_t bytes;
};

static void retire(const sim_access *a, void *cells, size_t bytes) {
  sim_check *c = a->w->launch->check;
  struct sim_retired *r = malloc(sizeof *r);
  if (!r) return; /* they stay with their slab */
  pthread_mutex_lock(&c->lock);
  *r = (struct sim_retired){c->retired, cells, bytes};
  c->retired = r;
  pthread_mutex_unlock(&c->lock);
}

void sim_retire(sim_check *c) {
  while (c->retired) {
    struct sim_retired *next = c->retired->next;
    sim_slabs_give(&c->shadow->slabs, c->retired->cells, c->retired->bytes);
    free(c->retired);
    c->retired = next;
  }
}

/* The page's cells become smaller and all know what they, or the rows, knew. */
static bool shrink(const sim_access *a, sim_page *page, uint8_t shift) {
  uint32_t count = SIM_PAGE_BYTES >> shift, by = page->shift - shift, before = count >> by;
  for (uint32_t i = 0; i < before >> SIM_ROW_SHIFT; i++) {
    if (!open_row(a, page, i)) return false;
  }
  sim_cell *old = sim_cells_at(page->cells), *cells = take(a, count * sizeof *cells);
  sim_row *rows = cells ? take(a, (count >> SIM_ROW_SHIFT) * sizeof *rows) : NULL;
  if (!rows) {
    give(a, cells, count * sizeof *cells);
    return false;
  }
  for (uint32_t i = 0; i < count; i++) copy_cell(&cells[i], &old[i >> by], a->locks);
  give(a, page->rows, sim_rows_bytes(page->shift));
  page->rows = rows;
  page->shift = shift;
  page->opened[0] = page->opened[1] = ~0ull;
  atomic_store_explicit(&page->cells, (uintptr_t)cells | shift, memory_order_release);
  if (a->locks)
    retire(a, old, before * sizeof *old);
  else
    give(a, old, before * sizeof *old);
  return true;
}

/* Rows anew, with none open. Nobody looks at what the page had for an earlier launch. */
static bool make_rows(const sim_access *a, sim_page *page, uint8_t shift) {
  give(a, sim_cells_at(page->cells), sim_cells_bytes(page->cells & 63));
  give(a, page->rows, sim_rows_bytes(page->shift));
  page->cells = 0;
  page->shift = shift;
  page->rows = take(a, sim_rows_bytes(shift));
  return page->rows;
}

/* The page has rows for this launch with cells that are small enough. Under its lock. */
static bool prepare(const sim_access *a, sim_page *page) {
  uint8_t shift = a->shift;
  bool fresh = page->run != a->run;
  if (fresh) {
    page->opened[0] = page->opened[1] = 0;
    page->marked = false;
    if ((!page->rows || shift < page->shift) && !make_rows(a, page, shift)) return false;
    atomic_store_explicit(&page->run, a->run, memory_order_release);
  }
  return shift >= page->shift || shrink(a, page, shift);
}

/* ---- one lane ---- */

sim_cells sim_row_open(const sim_access *a, sim_page *page) {
  sim_cells cells = {0};
  uint32_t offset = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1));
  if (a->locks) sim_page_lock(page);
  if (prepare(a, page) && open_row(a, page, offset >> page->shift >> SIM_ROW_SHIFT))
    cells = sim_row_look(a, page, a->address);
  if (a->locks) sim_page_unlock(page);
  return cells;
}

/* ---- a span of lanes ---- */

/* Lanes of a warp at cells of a row, as marks: of several lanes at one place the first and the last
 * are remembered, of their writes the last. */
static bool row_span(const sim_access *a, sim_row *row, mark now, const sim_span *s) {
  bool several = s->same && s->count > 1;
  if (row->run != a->run) *row = (sim_row){.run = a->run};
  if (several && kind_of(&now) == WRITE) return false;
  if (!all_settled(a, row, &now, !several)) return false;
  if ((!several || kind_of(&now) == READ) && !enter(a, row, &now)) return false;
  now.thread += several ? s->count - 1 : 0;
  return !several || enter(a, row, &now);
}

static uint32_t bits(uint32_t first, uint32_t count) {
  return (count >= 32 ? ~0u : (1u << count) - 1) << first;
}

static uint32_t log2_of(uint32_t power) {
  return (uint32_t)__builtin_ctz(power);
}

static bool read_by_all(const sim_access *a, const sim_page *page, const sim_span *s) {
  sim_cells cells = sim_row_look(a, page, a->address);
  return cells.first && sim_race_same(a, cells, s->count);
}

uint32_t sim_row_span(const sim_access *a, sim_page *page, const sim_span *s) {
  if (!prepare(a, page)) return 0;
  uint32_t offset = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1)), alone = 0;
  uint32_t per = a->bytes >> page->shift; /* cells of a lane */
  uint32_t step = s->same ? SIM_ROW_SHIFT : log2_of(per);
  uint32_t cell = offset >> page->shift, end = cell + (s->same ? per : per * s->count);
  kind k = !sim_writes(a) ? READ : a->flags & SIM_STRONG ? STRONG : WRITE;
  const sim_record r = a->now;
  uint32_t site = r.site | (uint32_t)k << KIND_SHIFT | step << STEP_SHIFT;
  /* Of cell 0 of the page, were it in the span. */
  uint32_t thread = s->same ? r.thread : r.thread - (cell >> step);
  page->marked = true;
  for (uint32_t at = cell; at < end;) {
    uint32_t index = at >> SIM_ROW_SHIFT, first = index << SIM_ROW_SHIFT;
    uint32_t n = first + ROW_CELLS < end ? first + ROW_CELLS - at : end - at;
    mark now = {bits(at - first, n), thread + (s->same ? 0 : first >> step), r.time, site};
    if (sim_row_is_open(page, index) || !row_span(a, &page->rows[index], now, s)) {
      if (open_row(a, page, index) && !(s->same && k == READ && read_by_all(a, page, s)))
        alone |= s->same ? bits(s->first, s->count) : bits(s->first + (at - cell) / per, n / per);
    }
    at += n;
  }
  return alone;
}
