/* libFuzzer target of the PTX parser: any bytes give a module that keeps its promises, or a clear
 * error. `make fuzz` runs it for a while; -dict=tests/fuzz/ptx.dict helps a long run. */
#include "../c/ptx_tree.h"

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
  } else {
    check_error(&error, code, module);
  }
  ptx_free(module);
  return 0;
}
