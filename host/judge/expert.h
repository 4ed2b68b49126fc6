/* Host code that stands in a plan where kernels do: how a task's own expert calls a library. Only a
 * trusted runner has one, and no candidate reaches it. Owns nothing: `state` belongs to who made
 * it. */
#ifndef PG_EXPERT_H
#define PG_EXPERT_H

#include <jansson.h>

#include "../error.h"

typedef struct pg_expert {
  void *state;
  /* Load ahead of need what takes long to load, by name; what goes wrong shows in "prepare". NULL:
   * nothing takes long. */
  void (*warm)(void *state, const char *name);
  /* Make ready what `request` names ("name", "source", "params", "buffers") for the buffers at
   * hand. `given` says where they are: {"device", "gpu", "memory", "stream": the driver's handle,
   * "sets":
   * [[the address of each buffer], ...]}. What there is to say of the library goes to `reply`.
   * PG_ENVIRONMENT: this machine lacks it. */
  pg_code (*prepare)(void *state, const json_t *request, const json_t *given, json_t *reply,
                     pg_error *error);
  /* Enqueue the work over the buffers of a set; what was made ready last is meant. */
  pg_code (*call)(void *state, int set, pg_error *error);
  /* Enqueue what brings its result into the outputs of the set, where a library allocates results
   * itself: after the clock has stopped, before anybody reads. NULL: nothing. */
  pg_code (*finish)(void *state, int set, pg_error *error);
} pg_expert;

#endif
