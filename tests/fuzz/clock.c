/* The clock of the fuzzers: every look at it is 7 ms later, so that a run can be repeated.
 * Linked with --wrap=clock_gettime; libFuzzer's own times come from the C++ library and stay. */
#include <time.h>

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  static long long now; /* nanoseconds */
  (void)clock;
  now += 7000000;
  *out =
      (struct timespec){.tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
  return 0;
}
