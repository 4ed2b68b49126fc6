/* Micro-ops that move control or let lanes of a warp, or warps of a block, meet. */
#ifndef PG_SIM_CONTROL_H
#define PG_SIM_CONTROL_H

#include "program.h"

#define SIM_CONTROL(X)                                                                        \
  X(jump)         /* bra, unconditional */                                                    \
  X(branch)       /* @p bra */                                                                \
  X(branch_table) /* brx.idx: imm targets follow as operand micro-ops */                      \
  X(join)         /* a label: groups that arrive here become one */                           \
  X(guard)        /* narrow the mask to a predicate; target is after the guarded micro-ops */ \
  X(unguard)                                                                                  \
  X(exit)         /* exit, and ret of an entry */                                             \
  X(call)         /* a function: imm is the sim_call */                                       \
  X(call_pointer) /* the same through the addresses in a */                                   \
  X(return )                                                                                  \
  X(mbarrier) /* init, arrive, ... */                                                         \
  X(mbarrier_wait)                                                                            \
  X(pending_count)                                                                            \
  X(atomic_128)                                                                               \
  X(stmatrix)                                                                                 \
  X(mma)                                                                                      \
  X(ldmatrix)                                                                                 \
  X(video)                                                                                    \
  X(movmatrix)                                                                                \
  X(print)       /* vprintf */                                                                \
  X(assert_fail) /* __assertfail */                                                           \
  X(trap)                                                                                     \
  X(barrier) /* bar.sync, bar.red: imm number, b predicate, c count, e kind of result */      \
  X(arrive)                                                                                   \
  X(fence)                                                                                    \
  X(warp_sync) /* bar.warp.sync */                                                            \
  X(shuffle)                                                                                  \
  X(vote)                                                                                     \
  X(match)                                                                                    \
  X(redux)                                                                                    \
  X(activemask)                                                                               \
  X(yield)        /* nanosleep */                                                             \
  X(clock)        /* %clock, %clock64, %globaltimer */                                        \
  X(count)        /* sim:profile: a basic block of imm instructions starts */                 \
  X(count_memory) /* sim:profile: the memory micro-op that follows */                         \
  X(turn)         /* sim:profile: other warps first */                                        \
  X(empty_l1)     /* sim:profile: a fence beyond the block */                                 \
  X(check)        /* sim:check: the memory micro-op that follows */                           \
  X(checked)      /* sim:check: behind a strong read */                                       \
  X(check_fence)  /* sim:check: fence, membar; imm: of the block only */                      \
  X(check_copies) /* sim:check: cp.async: groups are committed or waited for */

#define SIM_X(name) const sim_op *sim_op_##name(sim_warp *, const sim_op *);
SIM_CONTROL(SIM_X)
#undef SIM_X

/* sim_op.imm of check_copies; otherwise how many of the last groups need not be complete. */
enum { SIM_COPIES_COMMIT = -1, SIM_COPIES_ALL = -2 };

/* sim_op.e of mbarrier. */
enum {
  SIM_MBARRIER_INIT,
  SIM_MBARRIER_ARRIVE,
  SIM_MBARRIER_DROP,
  SIM_MBARRIER_EXPECT,
  SIM_MBARRIER_COMPLETE,
  SIM_MBARRIER_EXPECT_ARRIVE
};

/* sim_op.imm of mma: what a matrix multiplication is made of. */
typedef enum sim_element {
  SIM_F16,
  SIM_BF16,
  SIM_TF32,
  SIM_F32,
  SIM_F64,
  SIM_S8,
  SIM_U8,
  SIM_S4,
  SIM_U4,
  SIM_B1,     /* counts where both are 1 */
  SIM_B1_XOR, /* counts where one is: of B */
  SIM_S32
} sim_element;
typedef struct sim_mma {
  uint16_t depth;
  uint8_t rows, per; /* per: elements of a 32-bit register */
  uint8_t a, b, c;   /* sim_element */
  bool saturate;
} sim_mma;
/* Registers of the fragments. */
static inline uint32_t sim_mma_b(const sim_mma *m) {
  return m->depth / (4u * m->per);
}
static inline uint32_t sim_mma_a(const sim_mma *m) {
  return sim_mma_b(m) * m->rows / 8;
}
static inline uint32_t sim_mma_c(const sim_mma *m) {
  return m->c == SIM_F16 ? m->rows / 8 : m->rows / 4;
}
_Static_assert(sizeof(sim_mma) <= sizeof(uint64_t), "it is an immediate");

/* sim_op.imm of video instructions. */
typedef enum sim_video_what {
  SIM_VADD,
  SIM_VSUB,
  SIM_VABSDIFF,
  SIM_VMIN,
  SIM_VMAX,
  SIM_VAVRG,
  SIM_VSHL,
  SIM_VSHR,
  SIM_VSET,
  SIM_VMAD
} sim_video_what;
/* Selectors of a scalar, in the order of the bytes and halves, and modes of vset and of shifts. */
enum { SIM_VIDEO_WORD, SIM_VIDEO_B0, SIM_VIDEO_H0 = 5 };
enum { SIM_VIDEO_EQ, SIM_VIDEO_NE, SIM_VIDEO_LT, SIM_VIDEO_LE, SIM_VIDEO_GT, SIM_VIDEO_GE };
enum { SIM_VIDEO_CLAMP, SIM_VIDEO_WRAP };
typedef struct sim_video {
  uint64_t what : 4, ways : 3, mode : 3;
  uint64_t d_signed : 1, a_signed : 1, b_signed : 1, saturate : 1, adds : 1;
  uint64_t plus_one : 1, minus_product : 1, minus_c : 1;
  uint64_t to : 4;                   /* of several: a bit for each that is written */
  uint64_t from_a : 16, from_b : 16; /* of several: four bits for each, of both sources' pieces */
} sim_video;
_Static_assert(sizeof(sim_video) == sizeof(uint64_t), "it is an immediate");

/* sim_op.imm of shuffle, vote, match, redux. */
enum { SIM_SHFL_UP, SIM_SHFL_DOWN, SIM_SHFL_BFLY, SIM_SHFL_IDX };
enum { SIM_VOTE_ALL, SIM_VOTE_ANY, SIM_VOTE_UNI, SIM_VOTE_BALLOT };
enum { SIM_MATCH_ANY_32, SIM_MATCH_ANY_64, SIM_MATCH_ALL_32, SIM_MATCH_ALL_64 };
enum {
  SIM_REDUX_ADD,
  SIM_REDUX_MIN_S,
  SIM_REDUX_MAX_S,
  SIM_REDUX_MIN_U,
  SIM_REDUX_MAX_U,
  SIM_REDUX_AND,
  SIM_REDUX_OR,
  SIM_REDUX_XOR
};
enum { SIM_CLOCK_32, SIM_CLOCK_64, SIM_CLOCK_GLOBAL };

#endif
