/* The shape of handlers that go from lane to lane: for instructions where clarity counts more than
 * speed. See vec_types.h for the types. */
#ifndef PG_SIM_SCALAR_H
#define PG_SIM_SCALAR_H

#include "exact.h"

#define SLOT(T, offset) ((T##_slot *)(void *)(w->regs + (offset)))
#define SOURCE(T, v) __attribute__((unused)) const T##_val v = GET_##T(SLOT(T, op->v)[i]);
#define SET(D, e) SLOT(D, op->d)[i] = PUT_##D((D##_val)(e))
#define SET_PRED(e)                          \
  u32 *p = (u32 *)(void *)(w->regs + op->d); \
  *p = (*p & ~(1u << i)) | (u32)((e) != 0) << i
#define EACH_ACTIVE(i) \
  for (u32 rest_ = w->mask, i; rest_ && (i = (u32)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)

/* `sources` reads a, b, c of lane i; `action` writes the lane's result. */
#define SCALAR(key, action, sources)                        \
  static const sim_op *key(sim_warp *w, const sim_op *op) { \
    EACH_ACTIVE(i) {                                        \
      sources action;                                       \
    }                                                       \
    return op + 1;                                          \
  }

#endif
