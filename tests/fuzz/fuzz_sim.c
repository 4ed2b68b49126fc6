/* Fuzzes the simulator whole: any bytes as PTX, and what loads is run for a moment with poisoned
 * and with plausible arguments. Whatever happens must be an error or a fault report. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

enum { BUFFER = 4096 };

/* Eight-byte parameters alternate between a buffer and a small number; others get a small number.
 */
static void fill_arguments(const pg_kernel_info *info, pg_ptr buffer, uint8_t *bytes) {
  for (int i = 0; i < info->param_count; i++) {
    uint64_t value = info->params[i].size == 8 && i % 3 != 2 ? buffer : 7;
    uint32_t size = info->params[i].size < 8 ? info->params[i].size : 8;
    memcpy(bytes + info->params[i].offset, &value, size);
  }
}

static void run(pg_device *d, pg_module *m, const char *name, pg_ptr buffer) {
  pg_kernel *k;
  pg_kernel_info info;
  if (d->ops->kernel(d, m, name, &k, NULL) || d->ops->kernel_info(d, k, &info, NULL)) return;
  uint8_t *bytes = calloc(1, info.param_bytes + 8);
  if (!bytes) return;
  fill_arguments(&info, buffer, bytes);
  pg_launch l = {.kernel = k,
                 .grid = {2, 1, 1},
                 .block = {48, 1, 1},
                 .shared = 256,
                 .params = bytes,
                 .param_bytes = info.param_bytes};
  d->ops->launch(d, &l, NULL, NULL);
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  pg_sim_options options = {
      .mode = (pg_sim_mode)(size % 3), .workers = 1, .seed = size & 8, .limit_s = 0.02};
  pg_device *d;
  pg_module *m;
  pg_ptr buffer;
  if (pg_sim_open(&options, &d, NULL)) return 0;
  char *text = malloc(size + 1);
  if (text && d->ops->alloc(d, BUFFER, &buffer, NULL) == PG_OK) {
    memcpy(text, data, size);
    text[size] = 0;
    if (d->ops->load(d, text, size, "fuzz.ptx", &m, NULL) == PG_OK) {
      for (int i = 0; i < 4 && d->ops->kernel_name(d, m, i); i++) {
        run(d, m, d->ops->kernel_name(d, m, i), buffer);
      }
    }
  }
  free(text);
  d->ops->close(d);
  return 0;
}
