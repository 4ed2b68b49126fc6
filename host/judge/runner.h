/* The runner: executes a candidate's plan over a device as requests ask, and hands back raw facts.
 * It owns its device and everything on it. It works in-process too, which is how its tests drive
 * it. */
#ifndef PG_RUNNER_H
#define PG_RUNNER_H

#include <jansson.h>

#include "buffers.h"
#include "changed.h"
#include "clock.h"
#include "expert.h"
#include "globals.h"
#include "plan.h"

typedef pg_code pg_open_fn(const char *spec, pg_device **out, pg_error *error);

enum { PG_EVENT_PAIRS = 4096 }; /* most samples in one "time" request */

typedef struct pg_runner {
  pg_open_fn *open;
  pg_device *device; /* NULL before "open" */
  pg_device_info info;
  pg_stream *stream;
  pg_module *module;
  pg_globals globals; /* of the module */
  pg_digest digest;
  pg_buffers buffers;
  uint8_t *shared; /* borrowed */
  size_t shared_bytes;
  bool shared_fresh; /* no buffers were made over it yet */
  pg_ptr scratch;    /* memory whose writing flushes the L2 cache */
  size_t scratch_bytes;
  pg_event **events; /* start and stop of each sample, made as needed */
  size_t event_count;
  bool keeps_stream; /* graphs of the buffers at hand were timed on it */
  bool armed;        /* red zones hold canaries that nobody has compared yet */
  size_t lead;       /* times 10 us before a sample, so that the host is ahead of the device */
  pg_clock clock;
  const pg_expert *expert; /* borrowed; NULL but in a trusted runner */
  bool prepared;           /* for the buffers at hand */
  pg_changed changed;
  pg_fault fault;            /* of the request being handled */
  char broken[PG_WHERE_MAX]; /* why the device answers no more; empty while it does */
} pg_runner;

/* open: pg_device_open, or a test's own. NULL without memory. */
pg_runner *pg_runner_new(pg_open_fn *open);
void pg_runner_free(pg_runner *runner); /* NULL is allowed */
/* Memory for initial contents and results, new and zero; NULL, 0 takes it away. */
void pg_runner_share(pg_runner *runner, void *memory, size_t bytes);
/* Let plans call this host code of a task; it must outlive the runner. */
void pg_runner_trust(pg_runner *runner, const pg_expert *expert);
/* Handle one request, whatever it is: never NULL but without memory; the caller owns the reply. */
json_t *pg_runner_handle(pg_runner *runner, const json_t *request);

/* ---- between runner.c and timing.c ---- */

/* What steps of an expert may call; NULL before "prepare". */
const pg_expert *pg_runner_expert(const pg_runner *runner);
/* The "time" request; adds its results to `reply`. */
pg_code pg_runner_time(pg_runner *runner, const json_t *request, json_t *reply, pg_error *error);
/* After an error of a launch or sync: keep the device's fault for the reply. Returns error's code.
 */
pg_code pg_runner_fault(pg_runner *runner, pg_error *error);
/* Seed of canary bytes: the request's "seed", else random. */
pg_code pg_runner_seed(const json_t *request, uint64_t *seed, pg_error *error);
void pg_runner_drop_timing(pg_runner *runner); /* frees scratch memory and events */

#endif
