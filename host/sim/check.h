/* sim:check: who may have seen what. Every memory micro-op is preceded by `check`, which judges the
 * access by what the thread knows of the others (see clock.h), not by the order in which the
 * simulator happened to run them. A launch owns its sim_check, a block its sim_block_check. */
#ifndef PG_SIM_CHECK_H
#define PG_SIM_CHECK_H

#include "clock.h"
#include "exec.h"
#include "shadow.h"

/* What `check` and `checked` need to know of an access: sim_op.imm. */
enum {
  SIM_STRONG = 1,  /* volatile, relaxed or stronger, atomic: never tears, never races its like */
  SIM_CTA = 2,     /* only within the block */
  SIM_RELEASE = 4, /* .release, .acq_rel, .sc */
  SIM_ACQUIRE = 8,
  SIM_RMW = 16, /* atom, red */
  SIM_STORE = 32,
  SIM_GUARDED = 64, /* the mask is narrowed: no switch to another group here */
  SIM_COPY = 128    /* what cp.async writes */
};

/* Of a record: some of the bytes were never written before, so there was no value there. */
enum { SIM_FIRST = 4 };

/* Who accessed a word, when in the time of his block, and by which micro-op. */
typedef struct sim_record {
  uint32_t thread, time; /* time 0: nobody; with SIM_COPYING: a batch of his copies */
  /* Index in sim_program.sites; above SIM_SITE_BITS SIM_STRONG, SIM_CTA, SIM_FIRST. */
  uint32_t site;
} sim_record;

enum { SIM_SITE_BITS = 24, SIM_SITE_MASK = (1 << SIM_SITE_BITS) - 1 };

#define SIM_COPYING 0x80000000u

/* What is remembered of one word: see race.c. */
typedef struct sim_cell {
  _Alignas(64) atomic_flag lock; /* of global memory, with several workers */
  bool valued;                   /* `value` is what the last plain write stored in this word */
  uint32_t run;                  /* of which launch, or run of a block, the records are */
  sim_record write, strong, read[2];
  uint64_t value;
} sim_cell;

/* What was published through a word by those who released it, to all and within one block. */
typedef struct sim_channel {
  sim_clock *all, *block;
  uint32_t block_index;
  struct sim_channel *next, **home; /* list of its launch or block; where it is entered */
} sim_channel;

typedef struct sim_order {                      /* knowledge of a warp's lanes */
  _Alignas(64) uint64_t address[SIM_LANES + 8]; /* from `check` to `checked`; padded */
  uint32_t block[SIM_LANES];                    /* every thread of the block up to this time */
  uint32_t floor;                      /* all lanes know every thread of the block up to it */
  uint32_t warp;                       /* every lane of the warp, known to every lane */
  bool pairs;                          /* lane[][] is in use */
  bool clocks;                         /* one of the clocks below is not NULL */
  uint32_t lane[SIM_LANES][SIM_LANES]; /* [i][j]: lane i knows lane j */
  /* Known beyond that; fenced for all and for the block; read, but not yet fenced, from releases
   * to all and within the block. */
  sim_clock *known[SIM_LANES];
  sim_clock *fenced_all[SIM_LANES], *fenced_block[SIM_LANES];
  sim_clock *seen_all[SIM_LANES], *seen_block[SIM_LANES];
  uint32_t valid; /* lanes whose address is sound */
  /* copies.c: the batch that each lane's copies are of, the first of those that a group may be left
   * of, and the first that is not complete; of each batch when it was, 0: it is not. */
  uint32_t batch[SIM_LANES], base[SIM_LANES], done[SIM_LANES];
  uint32_t (*copied)[SIM_LANES];
  uint32_t batches; /* that copied[] has room for */
} sim_order;

typedef struct sim_block_check {
  uint32_t time; /* rises at everything that orders; from 1 */
  uint32_t run;
  sim_page *shared; /* pages of shared memory */
  uint32_t shared_count;
  uint64_t *local_bits; /* bytes written */
  uint64_t local_words; /* 64-bit words of these */
  sim_channel *syncs;
  uint32_t yields; /* accesses until the next seeded switch */
  sim_order *warps;
  uint32_t warp_count;
  uint32_t arrived[SIM_BARRIERS][SIM_LANES]; /* lanes of each warp at a barrier */
  sim_clock *arrivals[SIM_BARRIERS];         /* what bar.arrive published */
} sim_block_check;

/* The addresses of a warp's lanes at a micro-op; masks that mean something for active lanes. */
typedef struct sim_survey {
  uint32_t inside; /* aligned, and in the range that the micro-op hit last */
  uint32_t row;    /* the next lane's access follows in memory */
  uint32_t same;   /* the next lane's address is the same */
} sim_survey;
typedef sim_survey (*sim_surveyor)(const sim_warp *w, const sim_op *op, uint64_t *address);

typedef struct sim_check {
  sim_shadow *shadow;
  sim_surveyor survey;
  int top;              /* level of clocks */
  uint32_t run;         /* of this launch */
  atomic_bool lost;     /* memory for race checks ran out */
  atomic_bool channels; /* something was published through global memory */
  pthread_mutex_t lock;
  sim_channel *syncs;
  struct sim_retired *retired; /* cells that others may still look at */
} sim_check;

static inline uint32_t sim_thread_number(const sim_warp *w, uint32_t lane) {
  return (uint32_t)w->block->index << 10 | w->index << 5 | lane;
}

/* ---- check.c ---- */
pg_code sim_check_new(sim_launch *launch, sim_shadow *shadow, uint32_t run, sim_check **out,
                      pg_error *error);
void sim_check_free(sim_check *check);
sim_block_check *sim_check_block_new(const sim_launch *launch); /* NULL: no memory */
void sim_check_block_start(sim_block *block);
void sim_check_block_free(sim_block *block);

/* Bytes of a lane's local memory that a call has passed. */
void sim_check_passed(const sim_warp *w, uint32_t lane, uint64_t offset, uint32_t bytes);

/* An mbarrier: its phase is complete; lanes whose wait for one has ended. */
void sim_check_completed(sim_warp *w, uint64_t address);
void sim_check_waited(sim_warp *w, const sim_op *op, uint32_t lanes, bool relaxed);

/* ---- race.c: cells ---- */
typedef struct sim_access {
  sim_warp *w;
  const sim_op *op; /* the memory micro-op */
  uint32_t flags, lane;
  uint64_t address; /* as the kernel sees it */
  uint32_t run;     /* of the launch, or of the block for its shared memory */
  sim_record now;   /* of the lane */
  bool locks;       /* others may access the memory at the same time */
  uint8_t shift;    /* of cells that are small enough for it */
  uint32_t bytes;
} sim_access;

static inline bool sim_reads(const sim_access *a) {
  return !(a->flags & SIM_STORE) || (a->flags & SIM_RMW);
}
static inline bool sim_writes(const sim_access *a) {
  return a->flags & (SIM_STORE | SIM_RMW);
}
static inline bool sim_same_block(uint32_t thread, uint32_t other) {
  return thread >> 10 == other >> 10;
}
/* Of two sites: strong accesses, each in the scope of the other. */
static inline bool sim_both_strong(uint32_t a, uint32_t b, bool same_block) {
  return (a & b) >> SIM_SITE_BITS & SIM_STRONG &&
         (same_block || !((a | b) >> SIM_SITE_BITS & SIM_CTA));
}
/* The cells of an access of one lane. */
typedef struct sim_cells {
  sim_cell *first;
  uint32_t count;
} sim_cells;
/* Judge it and enter it. */
void sim_race(const sim_access *a, sim_cells cells);

/* The same of `count` lanes, a->lane the first, that all read one place: the first and the last are
 * remembered. False: there is something to object, the lanes are to be judged one by one. */
bool sim_race_same(const sim_access *a, sim_cells cells, uint32_t count);

/* ---- row.c: rows ---- */
/* Lanes [first, first + count), all active, whose accesses lie in a row in memory, inside one page,
 * or (same) all at one place. */
typedef struct sim_span {
  uint32_t first, count;
  bool same;
} sim_span;

/* Judge the lanes as one and enter what they do, under the page's lock. Lanes of the result are
 * left to be judged one by one: their cells are open. a->address is of the first lane. */
uint32_t sim_row_span(const sim_access *a, sim_page *page, const sim_span *span);

/* Under the tag of a page's cells: where they are. */
static inline sim_cell *sim_cells_at(uintptr_t tag) {
  return (sim_cell *)(tag & ~(uintptr_t)63);
}

static inline bool sim_row_is_open(const sim_page *page, uint32_t row) {
  return atomic_load_explicit(&page->opened[row / 64], memory_order_acquire) >> (row & 63) & 1;
}

/* The cells of an access of one lane where they are open, else none. */
static inline sim_cells sim_row_look(const sim_access *a, const sim_page *page, uint64_t address) {
  const sim_cells none = {0};
  if (atomic_load_explicit(&page->run, memory_order_acquire) != a->run) return none;
  uintptr_t tag = atomic_load_explicit(&page->cells, memory_order_acquire);
  uint32_t shift = tag & 63, cell = (uint32_t)(address & (SIM_PAGE_BYTES - 1)) >> shift;
  if (!tag || shift > a->shift || !sim_row_is_open(page, cell >> SIM_ROW_SHIFT)) return none;
  return (sim_cells){sim_cells_at(tag) + cell, a->bytes >> shift};
}

/* The same, opened where they are not; none: no memory. */
sim_cells sim_row_open(const sim_access *a, sim_page *page);
void sim_retire(sim_check *check);

/* ---- copies.c: cp.async ---- */
/* When a batch of a thread's copies was complete in the time of its block, 0: it is not. */
uint32_t sim_copied(const sim_block *block, uint32_t thread, uint32_t time);
void sim_copies_reset(sim_block *block);

/* ---- order.c ---- */
bool sim_knows_more(const sim_warp *w, uint32_t lane, uint32_t thread, uint32_t time);
/* Whether what a thread did up to a time happened before what the lane does now. */
static inline bool sim_knows(const sim_warp *w, uint32_t lane, uint32_t thread, uint32_t time) {
  if (thread >> 10 == (uint32_t)w->block->index && time <= w->block->check->warps[w->index].floor)
    return true;
  return sim_knows_more(w, lane, thread, time);
}
/* The same of all lanes and of all threads of the other's warp, as far as that is easily told. */
static inline bool sim_all_know(const sim_warp *w, uint32_t thread, uint32_t time) {
  const sim_order *o = &w->block->check->warps[w->index];
  if (thread >> 10 != (uint32_t)w->block->index) return false;
  return time <= o->floor || (time <= o->warp && (thread >> 5 & 31) == w->index);
}
/* Lanes of `mask` have met at a .sync instruction. */
void sim_order_warp(sim_warp *w, uint32_t mask);
void sim_order_arrive(sim_warp *w, uint32_t barrier, bool wait);
/* Everybody is at the barrier. False: a fault was recorded. */
bool sim_order_barrier(sim_block *block, uint32_t barrier);
void sim_order_fence(sim_warp *w, bool block_only);
/* A strong write of a lane publishes through a word; a strong read sees what was published. */
void sim_order_publish(const sim_access *a, sim_channel **home, sim_channel **list, bool replace);
void sim_order_observe(const sim_access *a, const sim_channel *sync);
/* A phase of an mbarrier is complete: who waits for it learns what was published through `from`. */
void sim_order_complete(const sim_channel *from, sim_channel **to, sim_channel **list);
void sim_order_reset(sim_block *block);
void sim_channel_free(sim_channel *list);

#endif
