/* libFuzzer target of the PTX parser and of what is said of its tree without running it: any bytes
 * give a module that keeps its promises, or a clear error. `make fuzz` runs it for a while;
 * -dict=tests/fuzz/ptx.dict helps a long run. */
#include "../c/ptx_tree.h"
#include "sim/flow.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "fuzz_ptx: %s\n", what);
  abort();
}

static void check_error(const pg_error *error, pg_code code, const ptx_module *module) {
  require(!module, "a module in spite of an error");
  require(error->code == code && (code == PG_SYNTAX || code == PG_MEMORY), "the code");
  require(error->message[0] && strncmp(error->where, "fuzz:", 5) == 0, "the error's text");
}

/* Values and tests of every body; what they point to is the tree's. */
static void check_flow(const ptx_module *module) {
  int64_t budget = FLOW_BUDGET;
  for (int k = 0; k < module->func_count; k++) {
    const ptx_func *func = &module->funcs[k];
    flow_value *values = flow_values(func);
    uint8_t *reached = flow_reached(func);
    flow_test tests[FLOW_TESTS_MAX];
    require(values && reached, "memory for a small function");
    int count = flow_tests(func, values, reached, tests, &budget);
    require(count >= 0 && count <= func->instr_count, "how many tests there are");
    for (int i = 0; i < count && i < FLOW_TESTS_MAX; i++)
      require(tests[i].instr->opcode && tests[i].of, "a test of something");
    for (int i = 0; i < func->instr_count; i++)
      if (func->body[i].opcode && flow_stores(&func->body[i])) flow_target(&func->body[i], values);
    free(values);
    free(reached);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  char *text = malloc(bytes + 1); /* of exactly this size, so that reading on is seen */
  if (!text) return 0;
  if (bytes) memcpy(text, data, bytes);
  text[bytes] = 0;
  pg_error error = {0};
  ptx_module *module = NULL;
  pg_code code = ptx_parse(text, bytes, "fuzz", &module, &error);
  free(text); /* the tree must not point into it */
  if (code == PG_OK) {
    const char *fault = tree_fault(module);
    require(!fault, fault ? fault : "");
    check_flow(module);
  } else {
    check_error(&error, code, module);
  }
  ptx_free(module);
  return 0;
}
