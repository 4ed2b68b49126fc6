/* Following control through a function, for what flow.h promises: a walk from an instruction to all
 * that it may come to. A walk owns its arrays; flow_end frees them. */
#ifndef PG_SIM_FLOW_WALK_H
#define PG_SIM_FLOW_WALK_H

#include "flow.h"

typedef struct flow_walk {
  const ptx_func *func;
  uint8_t *seen; /* by instruction */
  int *stack;
  int depth;
  int barrier;     /* a register: control is not followed past its definitions; -1 none */
  bool ended;      /* came to the end of the function, not by a failure */
  int64_t *budget; /* instructions that may still be looked at */
} flow_walk;

/* What happens on some way from an instruction. */
typedef struct flow_outcome {
  bool stores, ends;
} flow_outcome;

bool flow_start(flow_walk *w, const ptx_func *func); /* false: no memory; end it all the same */
void flow_end(flow_walk *w);
/* Pay for one look at every instruction. False when nothing is left: what is asked is not known. */
bool flow_pay(flow_walk *w);
flow_outcome flow_from(flow_walk *w, uint64_t at);
/* The only definition of the register that control can carry to instruction `at`; -1 when there is
 * none, or more than one. */
int flow_definition(flow_walk *w, int reg, int at);
bool flow_is(const ptx_instr *instr, const char *opcode);
bool flow_returns(const ptx_instr *instr); /* ret, exit */

/* The value of an operand at instruction `at` as an expression of parameters and constants; the
 * number of its nodes, of which the first is the root. 0: it is not one, or too large. */
int flow_expression(flow_walk *w, const ptx_operand *operand, const flow_value *values, int at,
                    flow_node nodes[FLOW_NODES_MAX]);

#endif
