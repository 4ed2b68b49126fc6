/* Monotonic seconds: one function, for the base library and all that stands on it. */
#include "now.h"

#include <time.h>

double pg_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
