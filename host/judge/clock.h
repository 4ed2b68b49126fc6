/* The clock of the multiprocessors, measured on the stream itself: cycles counted while the GPU's
 * timer advances. NVML tells what the clock is when it is asked, this what it was around the
 * samples. The same kernel keeps the stream busy for a given time, and one that does nothing shows
 * what a start takes. Owns its module and memory. */
#ifndef PG_CLOCK_H
#define PG_CLOCK_H

#include "../device.h"

enum { PG_CLOCK_SLOTS = 2, PG_CLOCK_NS = 50000 };

typedef struct pg_clock {
  pg_device *device; /* NULL until it is first needed; borrowed */
  pg_module *module;
  pg_kernel *kernel, *nothing;
  pg_ptr memory; /* cycles and nanoseconds, a pair a slot; 0: this device has no such clock */
} pg_clock;

/* Make what is needed, once. A device that cannot load the kernel has no clock: no error. */
void pg_clock_need(pg_clock *clock, pg_device *device);
bool pg_clock_runs(const pg_clock *clock);
/* Enqueue a measurement into a slot: it takes `ns`. Slots past the last one measure nothing and
 * wait. */
pg_code pg_clock_enqueue(pg_clock *clock, int slot, uint64_t ns, pg_stream *stream,
                         pg_error *error);
/* Enqueue a kernel of two blocks a multiprocessor that does nothing. */
pg_code pg_clock_nothing(pg_clock *clock, int multiprocessors, pg_stream *stream, pg_error *error);
/* MHz by slot, 0 where nothing was measured. Waits for the stream. */
pg_code pg_clock_read(pg_clock *clock, pg_stream *stream, double mhz[PG_CLOCK_SLOTS],
                      pg_error *error);
void pg_clock_free(pg_clock *clock); /* safe on a zeroed struct */

#endif
