/* Handlers of the memory micro-ops, generated from isa_mem.def: every lane's address is checked
 * against a range of the launch (the one this micro-op hit last, in the fast path) before it is
 * touched. */
#include "access.h"
#include "vec_lanes.h"

typedef u8 __attribute__((may_alias)) u8_mem;
typedef s8 __attribute__((may_alias)) s8_mem;
typedef u16 __attribute__((may_alias)) u16_mem;
typedef s16 __attribute__((may_alias)) s16_mem;
typedef u32 __attribute__((may_alias)) u32_mem;
typedef u64 __attribute__((may_alias)) u64_mem;

/* A range that holds lane i's access at low + x for every x < size. */
static inline bool in_range(const sim_hit *h, u64 address, u64 bytes) {
  return address - h->low < h->size && !(address & (bytes - 1));
}

/* Host addresses of the active lanes. */
static inline sim_where resolve(sim_warp *w, const sim_op *op, u64 address[SIM_LANES]) {
  lane_addresses(w, op, address);
  const sim_hit *h = &w->worker->cache[op->cache];
  u32 outside = lanes_outside(address, h->low, h->size, (u64)op->bytes * op->count - 1);
  if (__builtin_expect(outside & w->mask, 0)) return sim_resolve(w, op, address);
  if (h->class == SIM_GLOBAL) return SIM_ALL_GLOBAL;
  const u64 delta = w->delta[h->class];
  for (int i = 0; i < SIM_LANES; i++) address[i] += delta;
  if (h->class == SIM_LOCAL) {
    const u64 stride = w->func->stack_bytes;
    for (int i = 0; i < SIM_LANES; i++) address[i] += (u64)i * stride;
  }
  return SIM_BLOCK_PRIVATE;
}

/* Host address of an access whose address is a constant of the instruction, when every lane's is
 * the same and it lies where the last one did; else 0. */
static inline u64 constant_address(const sim_warp *w, const sim_op *op) {
  if (op->narrow != 2) return 0;
  const sim_hit *h = &w->worker->cache[op->cache];
  if (h->class == SIM_LOCAL || !in_range(h, op->imm, (u64)op->bytes * op->count)) return 0;
  return op->imm + w->delta[h->class];
}

#define SLOT(T, offset) ((T##_slot *)(void *)(w->regs + (offset)))
#define AT(M, address) ((M##_mem *)(uintptr_t)(address))
#define HANDLER(key) static const sim_op *key(sim_warp *w, const sim_op *op)

/* One value for all active lanes. */
#define SPREAD(d, value)                                                                \
  if (mask == SIM_ALL) {                                                                \
    for (int i = 0; i < SIM_LANES; i++) (d)[i] = (value);                               \
  } else {                                                                              \
    for (int i = 0; i < SIM_LANES; i++) (d)[i] = mask & LANE_BIT[i] ? (value) : (d)[i]; \
  }

/* Loads: one address for all lanes, lanes in a row, or any. The further elements of a vector have
 * micro-ops of their own for their destinations; 0 is a sink. */
#define LD(key, M, D)                                                                   \
  HANDLER(key) {                                                                        \
    _Alignas(64) u64 address[SIM_LANES];                                                \
    const u32 mask = w->mask, count = op->count;                                        \
    u64 one = constant_address(w, op);                                                  \
    if (!one) {                                                                         \
      if (!resolve(w, op, address)) return NULL;                                        \
      if (mask == SIM_ALL && lanes_step(address, 0)) one = address[0];                  \
    }                                                                                   \
    bool row = !one && count == 1 && mask == SIM_ALL && lanes_step(address, sizeof(M)); \
    for (u32 k = 0; k < count; k++) {                                                   \
      if (!op[k].d) continue;                                                           \
      D##_slot *d = SLOT(D, op[k].d);                                                   \
      if (one) {                                                                        \
        const D##_slot value = PUT_##D((M)AT(M, one)[k]);                               \
        SPREAD(d, value)                                                                \
      } else if (row) {                                                                 \
        const M##_mem *from = AT(M, address[0]);                                        \
        for (int i = 0; i < SIM_LANES; i++) d[i] = PUT_##D((M)from[i]);                 \
      } else if (sizeof(M) == 4) {                                                      \
        gather4((slot4 *)(void *)d, address, k * sizeof(M), mask);                      \
      } else if (sizeof(M) == 8) {                                                      \
        gather8((slot8 *)(void *)d, address, k * sizeof(M), mask);                      \
      } else {                                                                          \
        EACH_LANE(i, mask) d[i] = PUT_##D((M)*AT(M, address[i] + k * sizeof(M)));       \
      }                                                                                 \
    }                                                                                   \
    return op + count;                                                                  \
  }

#define ST(key, S, M)                                                             \
  HANDLER(key) {                                                                  \
    _Alignas(64) u64 address[SIM_LANES];                                          \
    if (!resolve(w, op, address)) return NULL;                                    \
    if (op->count == 1 && w->mask == SIM_ALL && lanes_step(address, sizeof(M))) { \
      const S##_slot *b = SLOT(S, op->b);                                         \
      M##_mem *to = AT(M, address[0]);                                            \
      for (int i = 0; i < SIM_LANES; i++) to[i] = (M)b[i];                        \
      return op + 1;                                                              \
    }                                                                             \
    EACH_LANE(i, w->mask) {                                                       \
      for (u32 k = 0; k < op->count; k++)                                         \
        *AT(M, address[i] + k * sizeof(M)) = (M)SLOT(S, op[k].b)[i];              \
    }                                                                             \
    return op + op->count;                                                        \
  }

/* Lines are fetched for all lanes before the first locked instruction, which waits for its own. */
static inline void fetch(const sim_warp *w, sim_where where, const u64 *address) {
  if (where == SIM_BLOCK_PRIVATE) return;
  EACH_LANE(i, w->mask) __builtin_prefetch((const void *)(uintptr_t)address[i], 1);
}

/* Additions of binary32 flush denormals in global memory, not in shared memory (PTX ISA, atom). */
static inline u32 add_f32(u32 old, u32 b, bool shared) {
  const float x = bits_f32(old), y = bits_f32(b);
  return f32_bits(quiet32(shared ? x + y : flush(flush(x) + flush(y))));
}

/* NaNs: shared memory gives the old one, made quiet; global memory the operand's, as it is. */
static inline u64 add_f64(u64 old, u64 b, bool shared) {
  const double x = bits_f64(old), y = bits_f64(b);
  if (!shared && (x != x || y != y)) return y != y ? b : old;
  return f64_bits(nan64(x, y, y, x + y));
}

/* One lane after the other: lanes of a warp that hit one address are ordered by lane. */
#define ATOM(key, T, e)                                                               \
  HANDLER(key) {                                                                      \
    _Alignas(64) u64 address[SIM_LANES];                                              \
    sim_where where = resolve(w, op, address);                                        \
    if (!where) return NULL;                                                          \
    bool plain = w->launch->single || where == SIM_BLOCK_PRIVATE;                     \
    fetch(w, where, address);                                                         \
    const T##_slot *pb = SLOT(T, op->b);                                              \
    T##_slot *d = op->d ? SLOT(T, op->d) : NULL;                                      \
    EACH_LANE(i, w->mask) {                                                           \
      T##_mem *at = AT(T, address[i]);                                                \
      const T b = (T)pb[i];                                                           \
      T old = __atomic_load_n(at, __ATOMIC_RELAXED);                                  \
      if (plain) {                                                                    \
        *at = (T)(e);                                                                 \
      } else {                                                                        \
        while (!__atomic_compare_exchange_n(at, &old, (T)(e), true, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_RELAXED)) {                      \
        }                                                                             \
      }                                                                               \
      if (d) d[i] = old;                                                              \
    }                                                                                 \
    return op + 1;                                                                    \
  }

#define CAS(key, T)                                                                                \
  HANDLER(key) {                                                                                   \
    _Alignas(64) u64 address[SIM_LANES];                                                           \
    sim_where where = resolve(w, op, address);                                                     \
    if (!where) return NULL;                                                                       \
    bool plain = w->launch->single || where == SIM_BLOCK_PRIVATE;                                  \
    fetch(w, where, address);                                                                      \
    const T##_slot *pb = SLOT(T, op->b), *pc = SLOT(T, op->c);                                     \
    T##_slot *d = op->d ? SLOT(T, op->d) : NULL;                                                   \
    EACH_LANE(i, w->mask) {                                                                        \
      T##_mem *at = AT(T, address[i]);                                                             \
      T old = (T)pb[i];                                                                            \
      const T desired = (T)pc[i], seen = __atomic_load_n(at, __ATOMIC_RELAXED);                    \
      if (seen != old) {                                                                           \
        old = seen; /* a comparison that fails is a load */                                        \
      } else if (!plain) {                                                                         \
        __atomic_compare_exchange_n(at, &old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
      } else {                                                                                     \
        *at = desired;                                                                             \
      }                                                                                            \
      if (d) d[i] = old;                                                                           \
    }                                                                                              \
    return op + 1;                                                                                 \
  }

#include "isa_mem.def"
#undef LD
#undef ST
#undef ATOM
#undef CAS

#define LD(key, M, D) {#key, key, SHAPE_##D},
#define ST(key, S, M) {#key, key, SHAPE_##S},
#define ATOM(key, T, e) {#key, key, SHAPE_##T SHAPE_##T},
#define CAS(key, T) {#key, key, SHAPE_##T SHAPE_##T SHAPE_##T},

const sim_entry ISA_NAME(sim_mem)[] = {
#include "isa_mem.def"
    {NULL, NULL, NULL}};
