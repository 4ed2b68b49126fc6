/* A plan: the steps that a candidate is, as data, checked against its kernels and buffers before
 * anything runs. The plan owns its steps; kernels and buffers must outlive it. */
#ifndef PG_PLAN_H
#define PG_PLAN_H

#include <jansson.h>

#include "../device.h"
#include "buffers.h"

enum { PG_STEP_MAX = 4096 };

typedef enum pg_step_kind { PG_STEP_LAUNCH, PG_STEP_MEMSET, PG_STEP_COPY } pg_step_kind;

/* Where the address of a buffer goes in the packed arguments: it differs from set to set. */
typedef struct pg_patch {
  uint32_t at;
  int buffer;
  uint64_t offset;
} pg_patch;

typedef struct pg_step {
  pg_step_kind kind;
  pg_launch launch;
  uint8_t *params; /* what launch.params points to */
  pg_patch *patches;
  int patch_count;
  int to, from; /* buffers of memset and copy */
  size_t offset, bytes;
  uint8_t byte;
} pg_step;

typedef struct pg_plan {
  size_t count;
  pg_step *steps;
} pg_plan;

/* Read the request's "plan". PG_LAUNCH: what a launch cannot be (grid, arguments); PG_NOT_FOUND: no
 * such kernel; PG_INVALID, PG_RANGE: the rest. `where` is "plan[i]", i from 0. After an error the
 * plan is empty. */
pg_code pg_plan_parse(pg_plan *plan, const json_t *request, pg_device *device, pg_module *module,
                      const pg_buffers *buffers, pg_error *error);
/* Enqueue all steps over the buffers of one set. */
pg_code pg_plan_enqueue(pg_plan *plan, const pg_buffers *buffers, int set, pg_error *error);
void pg_plan_free(pg_plan *plan);

/* Put the JSON arguments of a launch into step->params as the kernel's parameters ask (args.c). */
pg_code pg_pack_args(pg_step *step, const pg_kernel_info *info, const json_t *args,
                     const pg_buffers *buffers, pg_error *error);

#endif
