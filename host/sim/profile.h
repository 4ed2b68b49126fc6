/* sim:profile: counters by PTX instruction while a kernel runs, by source line afterwards. The
 * device owns a sim_profile; a launch's worker has one pg_counters for each instruction. */
#ifndef PG_SIM_PROFILE_H
#define PG_SIM_PROFILE_H

#include "exec.h"

/* What was counted since the last reset, by line, and the addresses that atomics met at most. */
typedef struct sim_profile {
  pg_profile shown; /* points into the rest */
  pg_line *lines;
  size_t count, room;
} sim_profile;

/* Where to count what `op` does in the running frame. */
static inline pg_counters *sim_counters(const sim_warp *w, const sim_op *op) {
  sim_worker *worker = w->worker;
  return worker->sites ? &worker->sites[w->frame->func->first_site + op->source]
                       : &worker->counters;
}

void sim_add_counters(pg_counters *to, const pg_counters *from);
/* Add a launch's sites to the worker's sum and to the lines. False: no memory. */
bool sim_profile_add(sim_profile *p, sim_launch *l);
/* Forget everything; file names belong to modules, so a module that goes takes them along. */
void sim_profile_reset(sim_profile *p);

#endif
