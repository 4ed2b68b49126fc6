/* The simulator as a pg_device. */
#include "sim.h"

pg_code pg_sim_open(const pg_sim_options *options, pg_device **out, pg_error *error) {
  (void)options;
  *out = NULL;
  return pg_fail(error, PG_UNSUPPORTED, "the simulator is being written");
}
