/* Inside the lowering: the state shared by its files. See program.h for what it produces. */
#ifndef PG_SIM_LOWER_H
#define PG_SIM_LOWER_H

#include "control.h"

/* Bytes of a slot. */
enum { BYTES_P = 4, BYTES_4 = 4 * 32, BYTES_8 = 8 * 32 };
enum { LOWER_TEMPS = 8 };
/* Shared memory of the system, told by %reserved_smem_offset_begin, _end, _cap, _0, _1. */
#define SIM_RESERVED_NAME "%reserved_smem_"
enum { SIM_RESERVED_SHARED = 1024 };

typedef struct constant {
  char shape;
  uint64_t value;
  uint32_t slot;
  bool special;
} constant;

typedef struct fixup { /* a micro-op whose target becomes known later */
  size_t op;
  bool label; /* index is a label of the body, else a micro-op */
  size_t index;
} fixup;

typedef struct lowering {
  sim_program *program;
  const ptx_func *source;
  sim_func *out;
  const char *name;
  pg_error *error;
  pg_code code; /* the first error */
  uint32_t at;  /* index of the instruction being lowered; their number: none yet */
  int line;     /* then: of the declaration that has its turn, in the PTX */
  sim_op *ops;
  size_t op_count, op_capacity;
  uint32_t *slot;                  /* of each register */
  uint32_t temp_p, temp_4, temp_8; /* first scratch slot of each shape */
  uint32_t used_p, used_4, used_8; /* scratch slots in use by this instruction */
  constant *constants;
  size_t constant_count, constant_capacity;
  fixup *fixups;
  size_t fixup_count, fixup_capacity;
  uint32_t *var_offset; /* of each variable of the body in the frame's local memory */
  size_t *label_op;     /* micro-op of each label, by body index */
  size_t count_op;      /* sim:profile: the current block's counter, SIZE_MAX none */
} lowering;

/* ---- regalloc.c ---- */
char lower_shape(ptx_type type); /* 'p', '4', '8', 'x' (128 bits); 0 when a register of this type
                                    cannot be held */
/* Call visit for every register an instruction writes (write true) or reads. */
typedef void lower_visit(void *context, int reg, bool write);
void lower_registers(const ptx_instr *instr, lower_visit *visit, void *context);
/* Give every register an index among those of its shape; counts[0..3] are the numbers of p, 4, 8,
 * x.
 */
pg_code lower_allocate(const ptx_func *func, uint32_t *index, uint32_t counts[4], pg_error *error);
/* True when the branch at body index `from` closes a loop from label `to` that only waits for
 * memory. */
bool lower_is_spin(const ptx_func *func, size_t to, size_t from);

/* ---- lower.c ---- */
bool lower_fail(lowering *l, pg_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool lower_unsupported(lowering *l, const char *why);
sim_op *lower_emit(lowering *l,
                   sim_handler fn); /* valid until the next emit; NULL after an error */
sim_op *lower_emit_key(lowering *l, const char *key, uint32_t d, uint32_t a, uint32_t b);
void lower_target(lowering *l, size_t op, bool label, size_t index);
/* Room for one more item; NULL after an error. */
void *lower_grow(lowering *l, void *items, size_t count, size_t *capacity, size_t size);

/* ---- lower_operand.c ---- */
uint32_t lower_temp(lowering *l, char shape);
uint32_t lower_constant(lowering *l, char shape, uint64_t value);
uint32_t lower_special(lowering *l, sim_special which);
uint32_t lower_source(lowering *l, const ptx_operand *operand, char shape);
/* Slot to write a result of `shape` to. When the register is wider, *wide is its slot and the
 * result goes to a scratch slot, to be extended by lower_widen. */
uint32_t lower_dest(lowering *l, const ptx_operand *operand, char shape, uint32_t *wide);
void lower_widen(lowering *l, uint32_t wide, uint32_t narrow, bool is_signed);
const ptx_instr *lower_instr(const lowering *l);
bool lower_operands(lowering *l, int least, int most); /* checks the number of operands */
bool lower_has(const ptx_instr *instr, const char *mod);
/* Every modifier is a type or one of `words` (separated by spaces), else PG_UNSUPPORTED. */
bool lower_known(lowering *l, const char *words);
ptx_type lower_type(const ptx_instr *instr); /* of the last modifier that is a type */
uint32_t lower_wide_special(lowering *l, sim_special which);

/* Address of a variable or function in its own space; in_frame: relative to lower_frame_base. */
typedef struct lower_place {
  uint64_t value;
  ptx_space space;
  bool in_frame;
} lower_place;
bool lower_symbol(lowering *l, const char *name, lower_place *out); /* false: not found */

/* ---- lower_call.c ---- */
bool lower_frame(lowering *l);          /* lays out the frame's local memory */
uint32_t lower_frame_base(lowering *l); /* 64-bit slot with where it starts; 0 in a kernel: at 0 */
bool lower_frame_symbol(const lowering *l, const char *name, lower_place *out);
bool lower_prologue(lowering *l);
bool lower_ret(lowering *l, const ptx_instr *instr);
bool lower_call(lowering *l, const ptx_instr *instr);
void lower_stacks(sim_program *program);
void lower_free_calls(sim_func *func);

/* ---- lower_memory.c, lower_special.c: instructions that are not plain table entries ---- */
typedef bool lower_rule(lowering *l, const ptx_instr *instr);
typedef struct lower_entry {
  const char *opcode;
  lower_rule *rule;
  bool meets; /* may wait or leave: a guard becomes a branch around it */
} lower_entry;
/* Each ends with a NULL opcode. */
extern const lower_entry lower_memory_rules[], lower_special_rules[], lower_predicate_rules[],
    lower_matrix_rules[], lower_atomic_rules[], lower_mbarrier_rules[], lower_video_rules[];
bool lower_copy_arrive(lowering *l, const ptx_instr *instr);
/* Address register, offset and window of a memory micro-op; the space an instruction names. */
bool lower_address(lowering *l, sim_op *op, const ptx_operand *o, ptx_space space);
ptx_space lower_space(const ptx_instr *instr);
void lower_describe(lowering *l, sim_op *op, ptx_type type, int count, bool store);
void lower_watch(lowering *l);   /* what other modes want in front of an access */
void lower_watched(lowering *l); /* and behind it */
void lower_acquired(lowering *l, const ptx_instr *instr); /* the fence behind an .acquire */
bool lower_orders(const ptx_instr *instr, const char *semantics);
int lower_vector(const ptx_instr *instr); /* elements: 1, 2, 4, 8 */
/* The i-th element of a vector operand, or the operand itself. */
const ptx_operand *lower_element(lowering *l, const ptx_operand *o, int count, int i);
lower_rule lower_plain; /* an instruction that is an entry of the table */

/* Modifiers of memory instructions. Scopes and weak, relaxed, volatile change nothing here: every
 * access goes to memory at once. Cache and eviction hints change only speed. */
#define LOWER_SPACES "global shared shared::cta local const param param::entry "
#define LOWER_ORDERS "weak relaxed volatile mmio acquire release acq_rel cta cluster gpu sys "
#define LOWER_CACHES                                                                             \
  "ca cg cs lu cv wb wt nc L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last " \
  "L1::no_allocate L2::64B L2::128B L2::256B L2::evict_last L2::evict_normal L2::evict_first "
#define LOWER_VECTORS "v2 v4 v8 "

#endif
