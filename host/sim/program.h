/* The lowered program: micro-ops that each execute for a whole warp, and what a launch needs to
 * know of a function. A sim_program owns its functions and its syntax tree; micro-ops point into
 * both. */
#ifndef PG_SIM_PROGRAM_H
#define PG_SIM_PROGRAM_H

#include "ptx.h"

typedef struct sim_warp sim_warp;
typedef struct sim_op sim_op;
typedef struct sim_func sim_func;
typedef struct sim_program sim_program;

/* A handler executes one micro-op for the active lanes and returns the next one; NULL leaves the
 * warp's loop, with the reason in the warp. */
typedef const sim_op *(*sim_handler)(sim_warp *, const sim_op *);

/* d, a, b, c, e, p are byte offsets of slots in the warp's frame, 0 for none. A slot holds 32 lanes
 * of 32 or 64 bits; a predicate is one 32-bit mask. 8- and 16-bit values live in 32-bit slots, bits
 * above them undefined. */
enum { SIM_UPPER_HALF = 256 }; /* of a 128-bit slot: two 64-bit ones in a row */
enum { SIM_COUNTED = 255 };    /* e of an atomic: its vector's first element stands for it */
enum { SIM_CARRY = 32 };       /* slot of the carry flag CC.CF in every frame: a predicate */

struct sim_op {
  sim_handler fn;
  uint32_t d, a, b, c, e;
  uint32_t p;           /* second destination: a predicate */
  uint32_t source;      /* index of the PTX instruction in the function's body */
  uint64_t imm;         /* address offset, shift amount, barrier number, ...: see the handler */
  const sim_op *target; /* branches and guards */
  uint32_t cache;       /* memory micro-ops: their entry in the worker's range cache */
  uint8_t bytes;        /* memory: bytes a lane accesses */
  uint8_t count;        /* memory: vector elements; the further ones follow as operand micro-ops */
  uint8_t negated;      /* branches and guards: on a false predicate */
  uint8_t narrow;       /* memory: the address register is 32 bits wide; barriers: .aligned */
  uint8_t store;        /* memory: writes */
  uint8_t spin;         /* branches: closes a loop that only waits for memory to change */
};

/* A special register that is constant while a block runs: filled into its slot when the block
 * starts. */
typedef enum sim_special {
  SIM_TID_X,
  SIM_TID_Y,
  SIM_TID_Z,
  SIM_NTID_X,
  SIM_NTID_Y,
  SIM_NTID_Z,
  SIM_CTAID_X,
  SIM_CTAID_Y,
  SIM_CTAID_Z,
  SIM_NCTAID_X,
  SIM_NCTAID_Y,
  SIM_NCTAID_Z,
  SIM_LANEID,
  SIM_WARPID,
  SIM_NWARPID,
  SIM_SMID,
  SIM_NSMID,
  SIM_GRIDID,
  SIM_LANEMASK_EQ,
  SIM_LANEMASK_LT,
  SIM_LANEMASK_LE,
  SIM_LANEMASK_GT,
  SIM_LANEMASK_GE,
  SIM_DYNAMIC_SMEM,
  SIM_TOTAL_SMEM,
  SIM_ZERO,
  SIM_ONE,
  SIM_ENVREG_1, /* address of the workspace of a cooperative launch, high and low half */
  SIM_ENVREG_2,
  SIM_FRAME_BASE, /* 64 bits: where the frame's local memory starts in its window */
  SIM_SPECIAL_COUNT
} sim_special;

typedef struct sim_preset { /* a slot with a value known before the warp starts */
  uint32_t slot;
  bool wide;    /* 64-bit lanes */
  bool special; /* value is a sim_special; filled for every block */
  uint64_t value;
} sim_preset;

/* A range of a memory window that a kernel may access: a variable, a local depot. */
typedef struct sim_variable {
  const char *name;
  const ptx_func *owner; /* that declares it, NULL: the module */
  uint64_t offset, bytes;
} sim_variable;

/* An argument or result of a call: bytes at an offset of the frame's local memory. */
typedef struct sim_param {
  uint32_t offset, bytes;
} sim_param;

/* What a call passes; of the function called for a direct call, of the prototype otherwise. */
typedef struct sim_call {
  const sim_func *func; /* NULL: through a pointer */
  uint32_t arg_count, ret_count;
  sim_param *args, *rets; /* in the caller's local memory */
  struct sim_call *next;  /* of the calling function */
} sim_call;

/* Numbers and sizes agree. */
bool sim_call_fits(const sim_call *call, const sim_func *func);

struct sim_func {
  const ptx_func *source;
  sim_program *program;
  sim_op *ops;
  size_t op_count;
  uint32_t frame_bytes;
  sim_preset *presets;
  size_t preset_count;
  uint32_t param_bytes;     /* of an entry */
  uint32_t *param_offset;   /* of each parameter, source->param_count of them */
  uint64_t shared_bytes;    /* static, gaps included */
  uint32_t reserved_shared; /* of these the system's, at the start */
  sim_variable *shared;     /* the last one is the dynamic part when dynamic_shared */
  size_t shared_count;
  bool dynamic_shared;
  uint64_t local_bytes; /* of one frame: results, parameters, variables, outgoing arguments */
  uint32_t local_align;
  uint64_t stack_bytes;   /* of an entry: local memory of a thread, all frames together */
  sim_param *args, *rets; /* of a .func: its parameters and results in its local memory */
  uint32_t index;         /* in the program's functions: names its list of spare frames */
  sim_call *calls;
  bool calls_pointers;
  bool orders;         /* check: has instructions that order threads, see race.c */
  bool unbounded;      /* it may recurse */
  uint32_t first_site; /* sim:profile: of its instructions in the worker's counters */
  uint8_t visit;       /* lower_stacks: 0 not yet, 1 on the way, 2 done */
};

struct sim_program {
  ptx_module *source;
  sim_func *funcs; /* entries, in the order of the text */
  size_t func_count;
  sim_func *callees; /* .func with a body, in the order of the text */
  size_t callee_count;
  sim_func **by_index;   /* of each function of the source, NULL when it has no body */
  uint32_t cache_count;  /* memory micro-ops of the whole program */
  uint64_t *var_address; /* device address of each module variable, 0 for shared ones */
  bool profile;
  uint32_t instr_count; /* of all functions */
  bool check;
  bool callees_order;      /* check: some callee orders threads */
  const ptx_instr **sites; /* check: the instruction of each memory micro-op, by its cache entry */
};

/* What is added to the program: counters, checks. */
typedef struct sim_program_kind {
  bool profile, check;
} sim_program_kind;

/* Turn a syntax tree into micro-ops. Takes over `source` on success. var_address: see sim_program;
 * owned by the caller until success. Errors: PG_UNSUPPORTED names the instruction and "NAME:LINE".
 */
pg_code sim_lower(ptx_module *source, const char *name, uint64_t *var_address,
                  const sim_program_kind *kind, sim_program **out, pg_error *error);
void sim_program_free(sim_program *program);

/* race.c: whether a function has instructions by which threads learn what others have done. */
bool sim_orders(const ptx_func *func);

/* Device address of a function of the source; calls through pointers turn it back. */
#define SIM_CODE_WINDOW 0x0000840000000000ull
enum { SIM_CODE_STEP = 16 };
uint64_t sim_code_address(const ptx_module *source, const char *name); /* 0: no such function */

/* The instruction table: a handler by key, "add_b32", "setp_lt_f32". `shape` has one letter an
 * operand, destination first: p predicate, 4 and 8 for 32- and 64-bit slots. */
typedef struct sim_entry {
  const char *key;
  sim_handler fn;
  const char *shape;
} sim_entry;

const sim_entry *sim_find_entry(const char *key); /* NULL when there is none */

#endif
