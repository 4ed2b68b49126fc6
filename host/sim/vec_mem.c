/* Handlers of the memory micro-ops, generated from isa_mem.def: every lane's address is checked
 * against a range of the launch (the one this micro-op hit last, in the fast path) before it is
 * touched. */
#include "access.h"
#include "vec_types.h"

typedef u8 __attribute__((may_alias)) u8_mem;
typedef s8 __attribute__((may_alias)) s8_mem;
typedef u16 __attribute__((may_alias)) u16_mem;
typedef s16 __attribute__((may_alias)) s16_mem;
typedef u32 __attribute__((may_alias)) u32_mem;
typedef u64 __attribute__((may_alias)) u64_mem;

/* Host addresses of the active lanes. */
static inline sim_where resolve(sim_warp *w, const sim_op *op, u64 address[SIM_LANES]) {
  const u64 offset = op->imm;
  if (op->narrow == 0) {
    const slot8 *base = (const slot8 *)(const void *)(w->regs + op->a);
    for (int i = 0; i < SIM_LANES; i++) address[i] = base[i] + offset;
  } else if (op->narrow == 1) {
    const slot4 *base = (const slot4 *)(const void *)(w->regs + op->a);
    for (int i = 0; i < SIM_LANES; i++) address[i] = (u64)base[i] + offset;
  } else {
    for (int i = 0; i < SIM_LANES; i++) address[i] = offset;
  }
  const sim_range *r = &w->worker->cache[op->cache];
  const u64 bytes = (u64)op->bytes * op->count, low = r->base, room = r->bytes - bytes;
  const s32 *m = w->lanes;
  u64 bad = 0;
  for (int i = 0; i < SIM_LANES; i++) {
    u64 wrong = (u64)(address[i] - low > room) | (address[i] & (bytes - 1));
    bad |= wrong & (u64)(s64)m[i];
  }
  if (__builtin_expect(bad != 0 || r->bytes < bytes, 0)) return sim_resolve(w, op, address);
  return r->class == SIM_GLOBAL ? SIM_ALL_GLOBAL : sim_rebase(w, r, address);
}

static inline bool contiguous(const u64 *address, u64 step) {
  u64 difference = 0;
  for (int i = 0; i < SIM_LANES; i++) difference |= address[i] ^ (address[0] + (u64)i * step);
  return difference == 0;
}

#define EACH_LANE(i, m) \
  for (u32 rest_ = (m), i; rest_ && (i = (u32)__builtin_ctz(rest_), 1); rest_ &= rest_ - 1)
#define SLOT(T, offset) ((T##_slot *)(void *)(w->regs + (offset)))
#define AT(M, address) ((M##_mem *)(uintptr_t)(address))
#define HANDLER(key) static const sim_op *key(sim_warp *w, const sim_op *op)

#define LD(key, M, D)                                                              \
  HANDLER(key) {                                                                   \
    u64 address[SIM_LANES];                                                        \
    if (!resolve(w, op, address)) return NULL;                                     \
    if (op->count == 1 && w->mask == SIM_ALL) {                                    \
      D##_slot *d = SLOT(D, op->d);                                                \
      if (contiguous(address, sizeof(M))) {                                        \
        const M##_mem *from = AT(M, address[0]);                                   \
        for (int i = 0; i < SIM_LANES; i++) d[i] = PUT_##D((M)from[i]);            \
      } else {                                                                     \
        for (int i = 0; i < SIM_LANES; i++) d[i] = PUT_##D((M)*AT(M, address[i])); \
      }                                                                            \
      return op + 1;                                                               \
    }                                                                              \
    for (u32 k = 0; k < op->count; k++) {                                          \
      if (!op[k].d) continue; /* a sink */                                         \
      D##_slot *d = SLOT(D, op[k].d);                                              \
      EACH_LANE(i, w->mask) d[i] = PUT_##D((M)*AT(M, address[i] + k * sizeof(M))); \
    }                                                                              \
    return op + op->count;                                                         \
  }

#define ST(key, S, M)                                                             \
  HANDLER(key) {                                                                  \
    u64 address[SIM_LANES];                                                       \
    if (!resolve(w, op, address)) return NULL;                                    \
    if (op->count == 1 && w->mask == SIM_ALL && contiguous(address, sizeof(M))) { \
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

/* One lane after the other: lanes of a warp that hit one address are ordered by lane. */
#define ATOM(key, T, e)                                                               \
  HANDLER(key) {                                                                      \
    u64 address[SIM_LANES];                                                           \
    sim_where where = resolve(w, op, address);                                        \
    if (!where) return NULL;                                                          \
    bool plain = w->launch->single || where == SIM_BLOCK_PRIVATE;                     \
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
    u64 address[SIM_LANES];                                                                        \
    sim_where where = resolve(w, op, address);                                                     \
    if (!where) return NULL;                                                                       \
    bool plain = w->launch->single || where == SIM_BLOCK_PRIVATE;                                  \
    const T##_slot *pb = SLOT(T, op->b), *pc = SLOT(T, op->c);                                     \
    T##_slot *d = op->d ? SLOT(T, op->d) : NULL;                                                   \
    EACH_LANE(i, w->mask) {                                                                        \
      T##_mem *at = AT(T, address[i]);                                                             \
      T old = (T)pb[i];                                                                            \
      const T desired = (T)pc[i];                                                                  \
      if (!plain) {                                                                                \
        __atomic_compare_exchange_n(at, &old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
      } else if (*at == old) {                                                                     \
        *at = desired;                                                                             \
      } else {                                                                                     \
        old = *at;                                                                                 \
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
