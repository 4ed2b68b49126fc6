/* The simulator device: executes PTX on the CPU. See README.md in this folder.
 * The device returned owns everything it hands out. */
#ifndef PG_SIM_H
#define PG_SIM_H

#include "../device.h"

typedef enum pg_sim_mode { PG_SIM_PLAIN, PG_SIM_CHECK, PG_SIM_PROFILE } pg_sim_mode;

typedef struct pg_sim_options {
  pg_sim_mode mode;
  int workers;         /* 0: one a core */
  uint64_t seed;       /* with one worker: the schedule is reproducible, another seed shuffles it */
  double limit_s;      /* wall-clock limit of a kernel; 0: none */
  uint64_t race_bytes; /* sim:check: memory for races; 0: three tenths of the machine's */
} pg_sim_options;

pg_code pg_sim_open(const pg_sim_options *options, pg_device **out, pg_error *error);

#endif
