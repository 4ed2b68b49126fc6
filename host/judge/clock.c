/* One thread that waits for the timer and counts its cycles meanwhile; and a kernel that does
 * nothing. The timer of an H200
 * advances in steps of 32 ns, that of older GPUs in steps of up to a microsecond: a measurement is
 * long beside that. */
#include "clock.h"

#include <string.h>

/* clock(u64 *out, u64 wait): from one step of the timer to the first that is `wait` ns later. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry clock(.param .u64 out, .param .u64 wait)\n{\n"
                          "  .reg .b64 %rd<12>;\n  .reg .pred %p<3>;\n"
                          "  ld.param.u64 %rd1, [out];\n  cvta.to.global.u64 %rd1, %rd1;\n"
                          "  ld.param.u64 %rd2, [wait];\n"
                          "  mov.u64 %rd3, %globaltimer;\n"
                          "edge:\n"
                          "  mov.u64 %rd4, %globaltimer;\n"
                          "  setp.eq.u64 %p1, %rd3, %rd4;\n  @%p1 bra edge;\n"
                          "  mov.u64 %rd5, %clock64;\n"
                          "  add.u64 %rd6, %rd4, %rd2;\n"
                          "more:\n"
                          "  mov.u64 %rd7, %globaltimer;\n"
                          "  setp.lt.u64 %p2, %rd7, %rd6;\n  @%p2 bra more;\n"
                          "  mov.u64 %rd8, %clock64;\n"
                          "  sub.u64 %rd9, %rd8, %rd5;\n  st.global.u64 [%rd1], %rd9;\n"
                          "  sub.u64 %rd10, %rd7, %rd4;\n  st.global.u64 [%rd1+8], %rd10;\n"
                          "  ret;\n}\n"
                          ".visible .entry nothing()\n{\n  ret;\n}\n";

void pg_clock_need(pg_clock *c, pg_device *device) {
  const pg_device_ops *ops = device->ops;
  const size_t bytes = (PG_CLOCK_SLOTS + 1) * 2 * sizeof(uint64_t); /* the last one for waiting */
  if (c->device) return;
  c->device = device;
  pg_code code = ops->load(device, ptx, sizeof ptx - 1, "clock.ptx", &c->module, NULL);
  if (code) c->module = NULL;
  if (!code) code = ops->kernel(device, c->module, "clock", &c->kernel, NULL);
  if (!code) code = ops->kernel(device, c->module, "nothing", &c->nothing, NULL);
  if (!code) code = ops->alloc(device, bytes, &c->memory, NULL);
  if (!code) code = ops->fill(device, c->memory, 0, 1, bytes, NULL, NULL);
  if (code && c->memory) ops->free(device, c->memory, NULL);
  if (code) c->memory = 0;
}

bool pg_clock_runs(const pg_clock *c) {
  return c->memory != 0;
}

pg_code pg_clock_enqueue(pg_clock *c, int slot, uint64_t ns, pg_stream *stream, pg_error *error) {
  if (!c->memory) return PG_OK;
  uint64_t place = slot < PG_CLOCK_SLOTS ? (uint64_t)slot : PG_CLOCK_SLOTS;
  const uint64_t params[2] = {c->memory + 16 * place, ns};
  const pg_launch launch = {.kernel = c->kernel,
                            .grid = {1, 1, 1},
                            .block = {1, 1, 1},
                            .params = params,
                            .param_bytes = sizeof params};
  return c->device->ops->launch(c->device, &launch, stream, error);
}

pg_code pg_clock_nothing(pg_clock *c, int multiprocessors, pg_stream *stream, pg_error *error) {
  const pg_launch launch = {
      .kernel = c->nothing,
      .grid = {2 * (uint32_t)(multiprocessors > 0 ? multiprocessors : 1), 1, 1},
      .block = {128, 1, 1}};
  return c->device->ops->launch(c->device, &launch, stream, error);
}

pg_code pg_clock_read(pg_clock *c, pg_stream *stream, double mhz[PG_CLOCK_SLOTS], pg_error *error) {
  uint64_t counted[PG_CLOCK_SLOTS][2] = {{0}};
  memset(mhz, 0, PG_CLOCK_SLOTS * sizeof *mhz);
  if (!c->memory) return PG_OK;
  const pg_device_ops *ops = c->device->ops;
  pg_code code = ops->download(c->device, counted, c->memory, sizeof counted, stream, error);
  if (!code) code = ops->stream_sync(c->device, stream, error);
  for (int i = 0; !code && i < PG_CLOCK_SLOTS; i++)
    if (counted[i][1]) mhz[i] = 1e3 * (double)counted[i][0] / (double)counted[i][1];
  return code;
}

void pg_clock_free(pg_clock *c) {
  if (!c->device) return;
  c->device->ops->free(c->device, c->memory, NULL);
  if (c->module) c->device->ops->unload(c->device, c->module);
  *c = (pg_clock){0};
}
