/* The running state of the simulator: launch, workers, blocks, warps. A launch owns its workers, a
 * worker its blocks, a block its warps; handlers see the warp and reach the rest from there. */
#ifndef PG_SIM_EXEC_H
#define PG_SIM_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include "memory.h"
#include "program.h"
#include "sim.h"

enum { SIM_LANES = 32, SIM_BARRIERS = 16, SIM_HOT = 32, SIM_MULTIPROCESSORS = 132 };
#define SIM_ALL 0xffffffffu

typedef struct sim_launch sim_launch;
typedef struct sim_worker sim_worker;
typedef struct sim_block sim_block;
struct sim_check;
struct sim_block_check;

typedef enum sim_state { SIM_READY, SIM_AT_BARRIER, SIM_CONVERGING } sim_state;

/* One activation of a function for lanes of a warp: their registers and where each returns to.
 * Lanes that call the same function from the same frame share it, and may enter at different
 * times. A frame dies when its last lane has returned or exited. */
typedef struct sim_frame {
  const sim_func *func;
  struct sim_frame *caller; /* NULL: the kernel */
  uint8_t *regs;
  uint64_t local_base; /* of its local memory, in the local window */
  uint32_t mask;       /* lanes in it, or in what it called */
  uint32_t depth;
  struct sim_frame *next;               /* of the warp, or of the worker's spare ones */
  const struct sim_op *back[SIM_LANES]; /* the call micro-op each lane came by */
} sim_frame;

/* Lanes of a warp that share a program counter and a frame. */
typedef struct sim_group {
  const sim_op *pc;
  sim_frame *frame;
  uint32_t mask;
  uint32_t need; /* SIM_CONVERGING: member mask, lanes that must arrive at pc */
  uint8_t state;
  uint8_t barrier;     /* SIM_AT_BARRIER */
  bool spun;           /* it left the processor waiting for memory to change */
  uint32_t last_run;   /* when it was last picked, in ticks of its warp */
  const sim_op *waits; /* the barrier micro-op, for its result and for reports */
} sim_group;

/* Why a warp left its loop. */
typedef enum sim_exit { SIM_SWITCH, SIM_QUANTUM, SIM_SPIN, SIM_TURN, SIM_FAULTED } sim_exit;

struct sim_warp {
  uint8_t *regs; /* of the running group's frame */
  sim_frame *frame;
  uint32_t mask;        /* active lanes: those of the running group */
  uint32_t guard_saved; /* mask outside the current guard */
  int32_t budget;       /* backward branches until another group, or the scheduler, is asked */
  int32_t slice;        /* picks until the scheduler is asked */
  uint32_t tick;
  bool others;             /* other groups are ready */
  const sim_op *other_min; /* lowest pc among the other ready groups of the frame; NULL: none */
  sim_block *block;
  sim_worker *worker;
  sim_launch *launch;
  const sim_func *func; /* the kernel */
  sim_frame root;       /* the kernel's */
  sim_frame *frames;    /* of functions, newest first */
  sim_exit why;
  uint32_t live; /* lanes that have not exited */
  int current;   /* index of the running group, -1 none */
  int group_count;
  uint32_t index;    /* in the block */
  uint64_t delta[4]; /* by sim_class: host address less device address, of lane 0 */
  sim_group groups[SIM_LANES];
};

/* Addresses at which an access by one memory micro-op lies in the range that it hit last. */
typedef struct sim_hit {
  uint64_t low, size; /* size 0: none */
  uint8_t class;
} sim_hit;

typedef struct sim_barrier {
  uint32_t arrived, expected; /* expected 0: all threads of the block */
  uint32_t trues;             /* bar.red: predicates that were true */
} sim_barrier;

struct sim_block {
  uint64_t index;
  uint32_t id[3];
  uint32_t warp_count, threads, live; /* live: threads that have not exited */
  uint32_t next_warp;
  sim_warp *warps;
  uint8_t *frames; /* warp_count frames */
  uint8_t *shared; /* static and dynamic shared memory */
  uint8_t *local;  /* threads * local_bytes */
  sim_barrier barriers[SIM_BARRIERS];
  uint32_t open; /* bit i: threads have arrived at barrier i */
  sim_launch *launch;
  uint32_t slices;               /* how often it was interrupted */
  struct sim_block_check *check; /* sim:check, else NULL */
  sim_block *next;               /* in the worker's list of resident or spare blocks */
};

/* A finding that the worker has made before, and how often since. */
typedef struct sim_told {
  pg_fault_kind kind;
  int line, other_line;
  uint64_t times;
} sim_told;

enum { SIM_TOLD = 8 };

struct sim_worker {
  sim_launch *launch;
  sim_told told[SIM_TOLD]; /* the newest ones, so that a frequent finding takes no lock */
  uint32_t told_next;
  sim_hit *cache;             /* where each memory micro-op was last */
  sim_block *resident, *last; /* a queue: the head runs next */
  sim_block *spare;
  sim_frame **spare_frames; /* by function */
  uint64_t frame_bytes;     /* all of them, used or spare */
  uint32_t resident_count;
  uint64_t rng; /* shuffles the schedule */
  pg_counters counters;
  pg_counters *sites; /* sim:profile: by PTX instruction of the program, else NULL */
  pg_hot hot[SIM_HOT];
  pthread_t thread;
  bool started;
};

/* What sim:check has found, one a cause, without stopping the kernel. */
typedef struct sim_findings {
  int count;
  pg_fault list[PG_FINDING_MAX];
} sim_findings;

struct sim_launch {
  const sim_func *func;
  const sim_memory *memory; /* for reports: freed allocations */
  const sim_ranges *ranges; /* every range a kernel may touch, sorted */
  const uint8_t *params;
  uint32_t grid[3], block[3];
  uint64_t block_count;
  uint64_t workspace;    /* of grid-wide barriers: address of zeros; 0: not cooperative */
  uint32_t threads;      /* a block's */
  uint64_t shared_bytes; /* static, gaps and dynamic */
  uint32_t dynamic_bytes;
  uint32_t max_resident;     /* blocks a worker may hold at once */
  struct sim_caches *caches; /* sim:profile, else NULL */
  bool single;               /* one worker: atomics need no lock */
  double deadline;           /* monotonic seconds; 0 none */
  uint64_t seed;
  atomic_ullong next_block;
  atomic_int stop; /* 0 run, else SIM_STOP_FAULT */
  pthread_mutex_t fault_lock;
  pg_fault fault;
  struct sim_check *check; /* sim:check, else NULL */
  sim_findings *findings;  /* the device's; under fault_lock */
  int failed;              /* index + 1 of the first finding of this launch that is a verdict */
  int worker_count;
  sim_worker *workers;
};

enum { SIM_STOP_FAULT = 1 };

/* Quanta in backward branches: of a warp that is alone, and of a group while others of its warp
 * wait. */
enum { SIM_QUANTUM_WARP = 4096, SIM_QUANTUM_GROUP = 1024, SIM_SLICE = 512 };

/* ---- warp.c: groups of lanes ---- */
/* The running group goes on at `taken` for lanes of `mask`, at `next` for the others. */
const sim_op *sim_diverge(sim_warp *w, uint32_t mask, const sim_op *taken, const sim_op *next);
/* The running group reached `pc`, where another group waits or lies behind: merge or switch. */
const sim_op *sim_rejoin(sim_warp *w, const sim_op *pc);
/* The running group has used up its quantum, or waits for memory to change: others first. */
const sim_op *sim_quantum(sim_warp *w, const sim_op *pc);
const sim_op *sim_spin(sim_warp *w, const sim_op *pc);
/* Lanes of the current group exit. */
const sim_op *sim_leave(sim_warp *w, uint32_t lanes, const sim_op *next);
/* True when all lanes of the running group name the same members, and every live one of these is in
 * it. Otherwise those that name others follow as a group of their own, and the group waits at op
 * for what it lacks. */
bool sim_converged(sim_warp *w, const sim_op *op, const uint32_t members[SIM_LANES],
                   const sim_op **next);
/* Choose a ready group and make it current: the lowest pc, or (fair) the one that has waited
 * longest. */
const sim_op *sim_pick(sim_warp *w, bool fair);
/* Run until the warp has nothing ready, its quantum ends, or a fault. */
sim_exit sim_run_warp(sim_warp *w);
/* Barrier arrival of the running group; releases the barrier when complete. */
const sim_op *sim_arrive_at(sim_warp *w, const sim_op *op, bool wait);
void sim_release_if_complete(sim_block *b, uint32_t barrier);

/* ---- call.c: frames ---- */
/* Lanes leave the frame, and with `all` those it was called from. */
void sim_leave_frames(sim_warp *w, sim_frame *frame, uint32_t lanes, bool all);
void sim_free_frames(sim_frame *list); /* with their registers */
/* Host address of a lane's local memory in a frame. */
uint8_t *sim_frame_local(const sim_warp *w, const sim_frame *frame, uint32_t lane);

/* ---- sched.c: blocks, workers, the launch ---- */
/* Constants and special registers of a frame; only what differs from block to block and frame to
 * frame unless all. */
void sim_fill_presets(const sim_warp *w, const sim_frame *frame, bool all);
pg_code sim_run(sim_launch *launch, pg_error *error);

/* ---- fault.c ---- */
/* Record the first fault of the launch, stop all workers; returns NULL for `return sim_fault(...)`.
 */
const sim_op *sim_fault(sim_warp *w, const sim_op *op, pg_fault_kind kind, int lane,
                        uint64_t address, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* The other access of a race. */
typedef struct sim_other {
  const ptx_instr *instr;
  uint32_t thread; /* block * 1024 + thread */
} sim_other;

/* Note what is wrong without stopping; the same instructions are noted once. */
void sim_find(sim_warp *w, const sim_op *op, int lane, uint64_t address, pg_fault_kind kind,
              const sim_other *other, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
void sim_find_note(sim_launch *launch, pg_fault_kind kind, const char *text);
void sim_find_end(const sim_worker *worker); /* how often it found what; others are done */
bool sim_fails(pg_fault_kind kind);          /* a verdict, and not only worth knowing */
/* A fault of a whole block or launch, with a list of where its warps stand. */
void sim_fault_block(sim_block *b, pg_fault_kind kind, const char *what);

#endif
