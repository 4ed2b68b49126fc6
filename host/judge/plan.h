/* A plan: the steps that a candidate is, as data, checked against its kernels and buffers before
 * anything runs. The plan owns its steps; kernels and buffers must outlive it. */
#ifndef PG_PLAN_H
#define PG_PLAN_H

#include <jansson.h>

#include "../device.h"
#include "buffers.h"
#include "expert.h"

/* Steps of one list, and how deep repeat_until may be nested. */
enum { PG_STEP_MAX = 4096, PG_REPEAT_DEPTH = 4 };

typedef enum pg_step_kind {
  PG_STEP_LAUNCH,
  PG_STEP_MEMSET,
  PG_STEP_COPY,
  PG_STEP_REPEAT,
  PG_STEP_EXPERT
} pg_step_kind;

/* Where the address of a buffer goes in the packed arguments, or a tensor map made of it: they
 * differ from set to set. */
typedef struct pg_patch {
  uint32_t at;
  int buffer;
  uint64_t offset;
  pg_tensor *tensor; /* NULL: the address itself */
} pg_patch;

struct pg_step;

typedef struct pg_plan {
  size_t count;
  struct pg_step *steps;
  const pg_expert
      *expert; /* set before parsing: what an expert's step calls; NULL: there is none */
} pg_plan;

typedef struct pg_step {
  pg_step_kind kind;
  pg_launch launch;
  uint8_t *params; /* what launch.params points to */
  pg_patch *patches;
  int patch_count;
  int to, from; /* buffers of memset and copy; the flag of repeat_until is `from` */
  size_t offset, from_offset, bytes;
  uint8_t byte;
  int64_t rounds; /* at most, of `body` */
  pg_plan body;
  const pg_expert *expert;
} pg_step;

/* Read the request's "plan". PG_LAUNCH: what a launch cannot be (grid, arguments); PG_NOT_FOUND: no
 * such kernel; PG_INVALID, PG_RANGE: the rest. `where` is "plan[i]", i from 0, in a loop
 * "plan[i].steps[k]". After an error the plan is empty. */
pg_code pg_plan_parse(pg_plan *plan, const json_t *request, pg_device *device, pg_module *module,
                      const pg_buffers *buffers, pg_error *error);
/* Enqueue all steps over the buffers of one set. A repeat_until waits for its flag in every round;
 * when its rounds end before the flag is set: PG_TIMEOUT. */
pg_code pg_plan_enqueue(pg_plan *plan, const pg_buffers *buffers, int set, pg_error *error);
/* Enqueue what an expert leaves to do after the clock has stopped. */
pg_code pg_plan_finish(const pg_plan *plan, int set, pg_error *error);
/* Whether enqueueing it waits for the device: it has a loop. */
bool pg_plan_waits(const pg_plan *plan);
void pg_plan_free(pg_plan *plan);

/* Put the JSON arguments of a launch into step->params as the kernel's parameters ask (args.c). */
pg_code pg_pack_args(pg_step *step, const pg_kernel_info *info, const json_t *args,
                     const pg_buffers *buffers, pg_error *error);

#endif
