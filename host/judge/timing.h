/* What a "time" request asks for, and what is made for it: read by timing_request.c, used by
 * timing.c. A pg_timing owns its lists; graphs belong to timing.c. */
#ifndef PG_TIMING_H
#define PG_TIMING_H

#include "runner.h"

typedef enum pg_method { PG_COLD, PG_HOT, PG_BATCH, PG_GRAPH } pg_method;

/* Spans of time that make one sample: of a graph, of one launch and of all launches. */
enum { PG_SPANS_MOST = 2 };

typedef struct pg_timing {
  pg_runner *runner;
  pg_plan plan;
  pg_method method;
  size_t batch; /* sets of one sample */
  size_t samples, spans;
  int *sets;      /* samples * batch of them; of a graph, batch */
  int64_t warmup; /* samples before the first that counts */
  uint32_t poison;
  uint64_t seed;
  pg_graph *graphs[PG_SPANS_MOST];
  bool *late;       /* samples that are not accepted */
  bool guards;      /* compare zones and hashes at the end; else a later request does */
  bool can_be_late; /* a plan that waits for the device is never ahead of it */
  bool counts;      /* samples are no longer for warming up */
  bool move;        /* buffers go elsewhere first */
  bool unpin;       /* what stays in L2 is given up before every sample, else before the first */
  size_t starts;    /* kernels that do nothing, timed beside the samples */
  bool *known; /* by set: `right` is the digest of what is to be written there; NULL: none is */
  uint64_t *right;
  int64_t keep, keep_in; /* a sample whose outputs are copied, -1: none; the set that gets them */
  const json_t *fresh;   /* the request's "renew"; NULL: nothing comes */
  int64_t fresh_at;      /* the sample that it comes right before */
  int64_t host_bound;
} pg_timing;

/* Read a request; `t` has its runner and nothing else. After an error, too, pg_timing_free. */
pg_code pg_timing_parse(pg_timing *t, const json_t *request, pg_error *error);
void pg_timing_free(pg_timing *t);

#endif
