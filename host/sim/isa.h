/* The instruction table and the processor's instruction set it was chosen for. */
#ifndef PG_SIM_ISA_H
#define PG_SIM_ISA_H

#include "check.h"

sim_surveyor sim_find_survey(void);
const char *sim_isa_name(void); /* "AVX-512", "AVX2" or "plain C" */

#endif
