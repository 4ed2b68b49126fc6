/* What can be said of a function's registers without running it: which follow from parameters
 * alone, which hold an address in a variable, which comparisons are of a parameter with a large
 * constant. Any tree that ptx_parse gave is safe; nothing here changes it. */
#ifndef PG_SIM_FLOW_H
#define PG_SIM_FLOW_H

#include "ptx.h"

enum {
  FLOW_SIZE = 1,   /* depends on a kernel's parameter or the launch's shape */
  FLOW_VARIES = 2, /* depends on the thread, on memory or on what is not known */
  FLOW_SEVERAL = 4 /* depends on a register with several definitions, of a loop for example */
};

/* A register's value, joined over all its definitions. */
typedef struct flow_value {
  uint8_t depends;     /* 0: on constants only */
  uint8_t definitions; /* 2: several */
  int definition;      /* index of the last one in the body */
  bool is_constant;    /* `constant` is the value */
  const char *of;      /* the first parameter or special register that it depends on */
  const char *symbol;  /* a variable or function whose address it derives from; FLOW_ANY */
  int64_t constant;
} flow_value;

/* A node of an expression. Operations: copy, neg, not, add, sub, mul, mad, div, rem, shl, shr, and,
 * or, xor, min, max, of `bits`; leaves: constant, parameter and special with their names. */
typedef struct flow_node {
  const char *op;
  int left, right, third; /* nodes; -1 none */
  int bits;
  bool is_signed;
  int64_t constant;
  const char *name;
} flow_node;

enum { FLOW_NODES_MAX = 24 };

extern const char FLOW_ANY[]; /* one of several; compared by address */

/* A comparison of a value that depends on sizes only with a constant of at least FLOW_LARGE. */
typedef struct flow_test {
  const ptx_instr *instr;
  const char *of;         /* parameter or special register */
  const char *comparison; /* "eq", "lt", "min", ..., the value on the left */
  int64_t constant;
  int nodes; /* of the expression that is compared; 0: not known, `of` is what it depends on */
  flow_node node[FLOW_NODES_MAX]; /* the first is the root */
  bool skips; /* one way from it reaches stores to memory, the other the end without any */
} flow_test;

enum { FLOW_LARGE = 256, FLOW_TESTS_MAX = 64, FLOW_BUDGET = 1 << 26 };

/* A value for each register of the function, to be freed; NULL when memory runs out. `is_entry`
 * parameters are sizes, those of other functions are not known. */
flow_value *flow_values(const ptx_func *func);
/* A byte for each instruction: whether control may come to it from the function's start. To be
 * freed. */
uint8_t *flow_reached(const ptx_func *func);
/* Up to FLOW_TESTS_MAX tests of the function into `tests`; returns how many there are, which may be
 * more, -1 when memory runs out. `budget` is how many instructions may be looked at, FLOW_BUDGET
 * for a module: when it is below 0 afterwards there may be tests that were not found, as text made
 * for that can bring about. */
int flow_tests(const ptx_func *func, const flow_value *values, const uint8_t *reached,
               flow_test *tests, int64_t *budget);
/* Whether a special register is the same for every thread of a launch: %nctaid and the like. */
bool flow_is_shape(const char *name);
/* The parameter of a kernel that the instruction, a load, reads; NULL when it is another. */
const char *flow_parameter(const ptx_func *func, const ptx_instr *instr);
/* Whether an instruction writes memory that outlives the block: a store, an atomic, a copy; a call
 * may. */
bool flow_stores(const ptx_instr *instr);
/* Whether it ends the kernel as a failure: a trap, an assertion. */
bool flow_fails(const ptx_instr *instr);
/* The variable that a memory operand of the instruction addresses, FLOW_ANY, or NULL. */
const char *flow_target(const ptx_instr *instr, const flow_value *values);
/* Whether an instruction goes on with a sum in half precision. */
bool flow_sums_halves(const ptx_func *func, const ptx_instr *instr, const flow_value *values);
/* The variable whose address the instruction stores or passes on, so that others may follow it. */
const char *flow_escape(const ptx_instr *instr, const flow_value *values);

#endif
