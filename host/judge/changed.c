/* Sixteen loads of 16 bytes a thread and a block of threads a chunk: at the speed of memory, which
 * is a hundred times that of the way to the host. */
#include "changed.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, RANGES_MOST = 4096 };

/* changed(u64 data, u64 flags, u32 fill): flags[b] = 1 when chunk b has any other word. */
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry changed(.param .u64 data, .param .u64 flags,"
                          " .param .u32 fill)\n{\n"
                          "  .reg .b64 %rd<7>;\n  .reg .b32 %r<12>;\n  .reg .pred %p<3>;\n"
                          "  ld.param.u64 %rd1, [data];\n  cvta.to.global.u64 %rd1, %rd1;\n"
                          "  ld.param.u64 %rd2, [flags];\n  cvta.to.global.u64 %rd2, %rd2;\n"
                          "  ld.param.u32 %r1, [fill];\n"
                          "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %tid.x;\n"
                          "  mul.wide.u32 %rd3, %r2, 65536;\n"
                          "  mad.wide.u32 %rd3, %r3, 16, %rd3;\n"
                          "  add.u64 %rd4, %rd1, %rd3;\n"
                          "  mov.u32 %r4, 0;\n  mov.u32 %r5, 0;\n"
                          "more:\n"
                          "  ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd4];\n"
                          "  xor.b32 %r6, %r6, %r1;\n  or.b32 %r4, %r4, %r6;\n"
                          "  xor.b32 %r7, %r7, %r1;\n  or.b32 %r4, %r4, %r7;\n"
                          "  xor.b32 %r8, %r8, %r1;\n  or.b32 %r4, %r4, %r8;\n"
                          "  xor.b32 %r9, %r9, %r1;\n  or.b32 %r4, %r4, %r9;\n"
                          "  add.u64 %rd4, %rd4, 4096;\n  add.u32 %r5, %r5, 1;\n"
                          "  setp.lt.u32 %p1, %r5, 16;\n  @%p1 bra more;\n"
                          "  setp.eq.u32 %p2, %r4, 0;\n  @%p2 bra done;\n"
                          "  cvt.u64.u32 %rd5, %r2;\n  add.u64 %rd6, %rd2, %rd5;\n"
                          "  mov.u32 %r10, 1;\n  st.global.u8 [%rd6], %r10;\n"
                          "done:\n  ret;\n}\n";

void pg_changed_need(pg_changed *c, pg_device *device) {
  const pg_device_ops *ops = device->ops;
  if (c->device) return;
  c->device = device;
  if (ops->load(device, ptx, sizeof ptx - 1, "changed.ptx", &c->module, NULL)) c->module = NULL;
  if (c->module && ops->kernel(device, c->module, "changed", &c->kernel, NULL)) c->kernel = NULL;
}

void pg_changed_reset(pg_changed *c, bool fresh) {
  for (int i = 0; i < PG_BUFFER_MAX; i++) {
    free(c->known[i].filled);
    c->known[i].filled = NULL;
  }
  c->fresh = fresh;
}

void pg_changed_free(pg_changed *c) {
  pg_changed_reset(c, false);
  free(c->found);
  if (c->device) {
    c->device->ops->free(c->device, c->flags, NULL);
    if (c->module) c->device->ops->unload(c->device, c->module);
  }
  *c = (pg_changed){0};
}

/* Room for a byte a chunk, here and there. */
static bool make_room(pg_changed *c, size_t chunks) {
  if (chunks <= c->room) return true;
  const pg_device_ops *ops = c->device->ops;
  free(c->found);
  ops->free(c->device, c->flags, NULL);
  c->room = 0;
  c->flags = 0;
  c->found = malloc(chunks);
  if (!c->found || ops->alloc(c->device, chunks, &c->flags, NULL)) return false;
  c->room = chunks;
  return true;
}

/* What is known of the destination: of another one nothing, but for zeros of fresh memory. */
static uint8_t *filled_of(pg_changed *c, int index, const void *to, size_t chunks, uint8_t fill) {
  if (c->known[index].filled && c->known[index].to == to) return c->known[index].filled;
  const bool first = c->known[index].filled == NULL;
  free(c->known[index].filled);
  c->known[index].filled = malloc(chunks);
  c->known[index].to = to;
  if (c->known[index].filled)
    memset(c->known[index].filled, first && c->fresh && fill == 0, chunks);
  return c->known[index].filled;
}

static pg_code find(pg_changed *c, pg_ptr data, size_t chunks, uint8_t fill, pg_stream *stream,
                    pg_error *error) {
  const pg_device_ops *ops = c->device->ops;
  const struct {
    uint64_t data, flags;
    uint32_t fill;
  } params = {data, c->flags, fill * 0x01010101u};
  const pg_launch launch = {.kernel = c->kernel,
                            .grid = {(uint32_t)chunks, 1, 1},
                            .block = {THREADS, 1, 1},
                            .params = &params,
                            .param_bytes = 20};
  pg_code code = ops->fill(c->device, c->flags, 0, 1, chunks, stream, error);
  if (!code) code = ops->launch(c->device, &launch, stream, error);
  if (!code) code = ops->download(c->device, c->found, c->flags, chunks, stream, error);
  if (!code) code = ops->stream_sync(c->device, stream, error);
  return code;
}

/* Chunks from `from` on that are like it: how many. */
static size_t alike(const uint8_t *found, size_t from, size_t chunks) {
  size_t end = from + 1;
  while (end < chunks && found[end] == found[from]) end++;
  return end - from;
}

static void put_fill(uint8_t *to, uint8_t *filled, size_t chunks, uint8_t fill) {
  for (size_t k = 0; k < chunks; k++) {
    if (!filled[k]) memset(to + k * PG_CHANGED_CHUNK, fill, PG_CHANGED_CHUNK);
    filled[k] = 1;
  }
}

static pg_code fetch(pg_changed *c, pg_ptr data, uint8_t *to, uint8_t *filled, size_t chunks,
                     uint8_t fill, pg_stream *stream, pg_error *error) {
  pg_code code = PG_OK;
  for (size_t k = 0, n; !code && k < chunks; k += n) {
    const size_t at = k * PG_CHANGED_CHUNK;
    n = alike(c->found, k, chunks);
    if (!c->found[k]) {
      put_fill(to + at, filled + k, n, fill);
      continue;
    }
    memset(filled + k, 0, n);
    code = c->device->ops->download(c->device, to + at, data + at, n * PG_CHANGED_CHUNK, stream,
                                    error);
  }
  return code;
}

/* The bytes behind the last whole chunk. */
static pg_code fetch_rest(pg_changed *c, pg_ptr data, uint8_t *to, size_t bytes, pg_stream *stream,
                          pg_error *error) {
  const size_t at = bytes / PG_CHANGED_CHUNK * PG_CHANGED_CHUNK;
  if (at == bytes) return PG_OK;
  return c->device->ops->download(c->device, to + at, data + at, bytes - at, stream, error);
}

pg_code pg_changed_read(pg_changed *c, pg_buffers *buffers, int index, int set, void *to,
                        pg_error *error) {
  const pg_buffer *b = &buffers->list[index];
  const size_t chunks = b->bytes / PG_CHANGED_CHUNK;
  uint8_t *filled = NULL;
  c->chunks = 0;
  if (c->kernel && b->has_fill && b->role == PG_ROLE_STATE && b->bytes >= PG_CHANGED_LEAST &&
      chunks <= INT32_MAX && make_room(c, chunks))
    filled = filled_of(c, index, to, chunks, b->fill);
  if (!filled) return pg_buffers_read(buffers, index, set, to, error);
  const pg_ptr data = pg_buffers_at(buffers, index, set);
  pg_stream *stream = buffers->stream;
  pg_code code = find(c, data, chunks, b->fill, stream, error);
  if (!code) code = fetch(c, data, to, filled, chunks, b->fill, stream, error);
  if (!code) code = fetch_rest(c, data, to, b->bytes, stream, error);
  if (!code) code = c->device->ops->stream_sync(c->device, stream, error);
  if (!code) c->chunks = chunks;
  return code;
}

static void add_range(json_t *list, size_t first, size_t end) {
  json_array_append_new(list, json_integer((json_int_t)first));
  json_array_append_new(list, json_integer((json_int_t)end));
}

json_t *pg_changed_ranges(const pg_changed *c, size_t bytes) {
  if (c->chunks == 0) return NULL;
  json_t *list = json_array();
  for (size_t k = 0, n; k < c->chunks; k += n) {
    n = alike(c->found, k, c->chunks);
    if (c->found[k]) add_range(list, k * PG_CHANGED_CHUNK, (k + n) * PG_CHANGED_CHUNK);
  }
  if (c->chunks * PG_CHANGED_CHUNK < bytes) add_range(list, c->chunks * PG_CHANGED_CHUNK, bytes);
  if (json_array_size(list) <= RANGES_MOST) return list;
  json_decref(list);
  return NULL;
}
