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
  SIM_GUARDED = 64 /* the mask is narrowed: no switch to another group here */
};

/* Who accessed a word, when in the time of his block, and by which micro-op. */
typedef struct sim_record {
  uint32_t thread, time; /* time 0: nobody */
  uint32_t site;         /* index in sim_program.sites, SIM_STRONG and SIM_CTA in the top bits */
} sim_record;

typedef struct sim_cell {
  uint32_t run; /* of which launch, or run of a block, the records are */
  sim_record write, strong, read[2];
} sim_cell;

/* What was published through a word by those who released it, to all and within one block. */
typedef struct sim_channel {
  sim_clock *all, *block;
  uint32_t block_index;
  struct sim_channel *next, **home; /* list of its launch or block; where it is entered */
} sim_channel;

typedef struct sim_order {             /* knowledge of a warp's lanes */
  uint32_t block[SIM_LANES];           /* every thread of the block up to this time */
  uint32_t warp;                       /* every lane of the warp, known to every lane */
  bool pairs;                          /* lane[][] is in use */
  bool clocks;                         /* one of the clocks below is not NULL */
  uint32_t lane[SIM_LANES][SIM_LANES]; /* [i][j]: lane i knows lane j */
  /* Known beyond that; fenced for all and for the block; read, but not yet fenced, from releases
   * to all and within the block. */
  sim_clock *known[SIM_LANES];
  sim_clock *fenced_all[SIM_LANES], *fenced_block[SIM_LANES];
  sim_clock *seen_all[SIM_LANES], *seen_block[SIM_LANES];
  uint64_t address[SIM_LANES]; /* from `check` to `checked` */
  uint32_t valid;              /* lanes whose address is sound */
} sim_order;

typedef struct sim_block_check {
  uint32_t time; /* rises at everything that orders; from 1 */
  uint32_t run;
  uint64_t *shared_bits, *local_bits; /* bytes written */
  uint64_t shared_words, local_words; /* 64-bit words of these */
  sim_cell *cells;                    /* of shared memory */
  uint8_t shift;
  sim_channel **sync;
  sim_channel *syncs;
  uint32_t yields; /* accesses until the next seeded switch */
  sim_order *warps;
  uint32_t arrived[SIM_BARRIERS][SIM_LANES]; /* lanes of each warp at a barrier */
  sim_clock *arrivals[SIM_BARRIERS];         /* what bar.arrive published */
} sim_block_check;

typedef struct sim_check {
  sim_shadow *shadow;
  int top;          /* level of clocks */
  uint32_t run;     /* of this launch */
  bool bytewise;    /* the kernel has accesses below 4 bytes */
  atomic_bool lost; /* memory for race checks ran out */
  pthread_mutex_t lock;
  sim_channel *syncs;
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

/* ---- race.c ---- */
typedef struct sim_access {
  sim_warp *w;
  const sim_op *op; /* the memory micro-op */
  uint32_t flags, lane;
  uint64_t address; /* as the kernel sees it */
} sim_access;
/* Judge an access to `count` cells and enter it. */
void sim_race(const sim_access *a, sim_cell *cells, uint32_t count, uint32_t run);

/* ---- order.c ---- */
bool sim_knows(const sim_warp *w, uint32_t lane, uint32_t thread, uint32_t time);
/* Lanes of `mask` have met at a .sync instruction. */
void sim_order_warp(sim_warp *w, uint32_t mask);
void sim_order_arrive(sim_warp *w, uint32_t barrier, bool wait);
/* Everybody is at the barrier. False: a fault was recorded. */
bool sim_order_barrier(sim_block *block, uint32_t barrier);
void sim_order_fence(sim_warp *w, bool block_only);
/* A strong write of a lane publishes through a word; a strong read sees what was published. */
void sim_order_publish(const sim_access *a, sim_channel **home, sim_channel **list, bool replace);
void sim_order_observe(const sim_access *a, const sim_channel *sync);
void sim_order_reset(sim_block *block);
void sim_channel_free(sim_channel *list);

#endif
