/* Three kernels: the sum over all words of a keyed mix of word and place, a copy on condition, and
 * the seal of a slot, which adds the mix of the seal so far to that of the slot. A sum does not
 * depend on the order of the threads; the mix is splitmix64's, with half of the key before and half
 * within. */
#include "digest.h"

#include <string.h>

#include "guard.h"

enum { BLOCK = 256, GRID_MOST = 1024 };

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* i = this thread's first item, stride = all threads: 8-byte words, then what is left as bytes. */
#define ITEMS                                                        \
  "  .reg .b64 %rd<40>;\n  .reg .b32 %r<12>;\n  .reg .pred %p<6>;\n" \
  "  ld.param.u64 %rd1, [from];\n  ld.param.u64 %rd2, [bytes];\n"    \
  "  cvta.to.global.u64 %rd1, %rd1;\n"                               \
  "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n"              \
  "  mov.u32 %r3, %tid.x;\n  mov.u32 %r4, %nctaid.x;\n"              \
  "  cvt.u64.u32 %rd4, %r3;\n  mul.wide.u32 %rd3, %r1, %r2;\n"       \
  "  add.u64 %rd3, %rd3, %rd4;\n  mul.wide.u32 %rd4, %r4, %r2;\n"    \
  "  shr.u64 %rd5, %rd2, 3;\n  and.b64 %rd6, %rd2, 7;\n"             \
  "  add.u64 %rd6, %rd6, %rd5;\n  mul.lo.u64 %rd7, %rd5, 7;\n"       \
  "  add.u64 %rd7, %rd7, %rd1; // byte of item i >= words: at 7 words + i\n"

/* %rd13 = the mix of %rd13 and its place %rd3, with the key in %rd9 and %rd10. */
#define MIX                                                       \
  "  xor.b64 %rd13, %rd13, %rd9;\n"                               \
  "  mad.lo.u64 %rd13, %rd3, 0x9e3779b97f4a7c15, %rd13;\n"        \
  "  shr.u64 %rd14, %rd13, 30;\n  xor.b64 %rd13, %rd13, %rd14;\n" \
  "  mul.lo.u64 %rd13, %rd13, 0xbf58476d1ce4e5b9;\n"              \
  "  xor.b64 %rd13, %rd13, %rd10;\n"                              \
  "  shr.u64 %rd14, %rd13, 27;\n  xor.b64 %rd13, %rd13, %rd14;\n" \
  "  mul.lo.u64 %rd13, %rd13, 0x94d049bb133111eb;\n"              \
  "  shr.u64 %rd14, %rd13, 31;\n  xor.b64 %rd13, %rd13, %rd14;\n"

static const char ptx[] = HEAD
    /* sum(from, bytes, to, key0, key1) */
    ".visible .entry sum(.param .u64 from, .param .u64 bytes, .param .u64 to, .param .u64 key0,\n"
    "                    .param .u64 key1)\n{\n" ITEMS
    "  ld.param.u64 %rd8, [to];\n  cvta.to.global.u64 %rd8, %rd8;\n"
    "  ld.param.u64 %rd9, [key0];\n  ld.param.u64 %rd10, [key1];\n  mov.u64 %rd11, 0;\n"
    "next:\n  setp.ge.u64 %p1, %rd3, %rd6;\n  @%p1 bra done;\n"
    "  setp.ge.u64 %p2, %rd3, %rd5;\n  @%p2 bra byte;\n"
    "  shl.b64 %rd12, %rd3, 3;\n  add.u64 %rd12, %rd12, %rd1;\n  ld.global.u64 %rd13, [%rd12];\n"
    "  bra.uni mix;\n"
    "byte:\n  add.u64 %rd12, %rd7, %rd3;\n  ld.global.u8 %rd13, [%rd12];\n"
    "mix:\n" MIX "  add.u64 %rd11, %rd11, %rd13;\n  add.u64 %rd3, %rd3, %rd4;\n  bra next;\n"
    "done:\n  mov.u32 %r5, 16;\n"
    "lanes:\n  mov.b64 {%r6, %r7}, %rd11;\n"
    "  shfl.sync.bfly.b32 %r8, %r6, %r5, 31, -1;\n  shfl.sync.bfly.b32 %r9, %r7, %r5, 31, -1;\n"
    "  mov.b64 %rd14, {%r8, %r9};\n  add.u64 %rd11, %rd11, %rd14;\n"
    "  shr.u32 %r5, %r5, 1;\n  setp.ne.u32 %p3, %r5, 0;\n  @%p3 bra lanes;\n"
    "  and.b32 %r10, %r3, 31;\n  setp.ne.u32 %p4, %r10, 0;\n"
    "  @!%p4 red.global.add.u64 [%rd8], %rd11;\n  ret;\n}\n"
    /* seal(at, slot, to, key0, key1): of one thread */
    ".visible .entry seal(.param .u64 at, .param .u64 slot, .param .u64 to, .param .u64 key0,\n"
    "                     .param .u64 key1)\n{\n  .reg .b64 %rd<16>;\n"
    "  ld.param.u64 %rd1, [at];\n  cvta.to.global.u64 %rd1, %rd1;\n"
    "  ld.param.u64 %rd8, [to];\n  cvta.to.global.u64 %rd8, %rd8;\n"
    "  ld.param.u64 %rd9, [key0];\n  ld.param.u64 %rd10, [key1];\n"
    "  ld.param.u64 %rd3, [slot];\n  ld.volatile.global.u64 %rd13, [%rd1];\n" MIX
    "  mov.u64 %rd11, %rd13;\n  mov.u64 %rd3, -1;\n"
    "  ld.volatile.global.u64 %rd13, [%rd8];\n" MIX
    "  add.u64 %rd13, %rd13, %rd11;\n  st.volatile.global.u64 [%rd8], %rd13;\n  ret;\n}\n"
    /* keep(from, bytes, to, at, right, kept, slot): all threads see the same, before and after. */
    ".visible .entry keep(.param .u64 from, .param .u64 bytes, .param .u64 to, .param .u64 at,\n"
    "                     .param .u64 right, .param .u64 kept, .param .u64 slot)\n{\n" ITEMS
    "  ld.param.u64 %rd8, [to];\n  cvta.to.global.u64 %rd8, %rd8;\n"
    "  ld.param.u64 %rd9, [at];\n  cvta.to.global.u64 %rd9, %rd9;\n"
    "  ld.param.u64 %rd10, [kept];\n  cvta.to.global.u64 %rd10, %rd10;\n"
    "  ld.param.u64 %rd15, [right];\n  ld.param.u64 %rd16, [slot];\n"
    "  ld.volatile.global.u64 %rd17, [%rd9];\n  ld.volatile.global.u64 %rd18, [%rd10];\n"
    "  setp.eq.u64 %p1, %rd17, %rd15;\n  @%p1 bra done;\n"
    "  setp.eq.u64 %p1, %rd18, -1;\n  setp.eq.u64 %p2, %rd18, %rd16;\n"
    "  or.pred %p1, %p1, %p2;\n  @!%p1 bra done;\n"
    "  st.volatile.global.u64 [%rd10], %rd16;\n"
    "  mul.lo.u64 %rd19, %rd5, 7;\n  add.u64 %rd19, %rd19, %rd8;\n"
    "next:\n  setp.ge.u64 %p1, %rd3, %rd6;\n  @%p1 bra done;\n"
    "  setp.ge.u64 %p2, %rd3, %rd5;\n  @%p2 bra byte;\n"
    "  shl.b64 %rd12, %rd3, 3;\n  add.u64 %rd13, %rd12, %rd1;\n  ld.global.u64 %rd14, [%rd13];\n"
    "  add.u64 %rd13, %rd12, %rd8;\n  st.global.u64 [%rd13], %rd14;\n  bra.uni on;\n"
    "byte:\n  add.u64 %rd13, %rd7, %rd3;\n  ld.global.u8 %rd14, [%rd13];\n"
    "  add.u64 %rd13, %rd19, %rd3;\n  st.global.u8 [%rd13], %rd14;\n"
    "on:\n  add.u64 %rd3, %rd3, %rd4;\n  bra next;\n"
    "done:\n  ret;\n}\n";

static pg_code load(pg_digest *g, pg_device *device, pg_error *error) {
  const pg_device_ops *ops = device->ops;
  pg_code code = pg_guard_key(g->key, error);
  if (!code) code = pg_guard_key(g->seal_key, error);
  if (code) return code;
  g->device = device;
  code = ops->load(device, ptx, sizeof ptx - 1, "digest.ptx", &g->module, NULL);
  if (code) g->module = NULL;
  if (!code) code = ops->kernel(device, g->module, "sum", &g->sum, NULL);
  if (!code) code = ops->kernel(device, g->module, "keep", &g->keep, NULL);
  if (!code) code = ops->kernel(device, g->module, "seal", &g->seal, NULL);
  if (code && g->module) ops->unload(device, g->module);
  if (code) g->module = NULL;
  return PG_OK;
}

pg_code pg_digest_need(pg_digest *g, pg_device *device, size_t count, pg_error *error) {
  pg_code code = g->device ? PG_OK : load(g, device, error);
  if (code || !g->module || count <= g->count) return code;
  pg_ptr more = 0; /* the old ones stay where there is no room */
  code = device->ops->alloc(device, (count + 3) * sizeof(uint64_t), &more, error);
  if (code) return code;
  device->ops->free(device, g->slots, NULL);
  g->slots = more;
  g->count = count;
  return PG_OK;
}

bool pg_digest_runs(const pg_digest *g) {
  return g->count > 0;
}

pg_code pg_digest_clear(pg_digest *g, pg_stream *stream, pg_error *error) {
  const pg_device_ops *ops = g->device->ops;
  pg_ptr kept = g->slots + 8 * g->count;
  pg_code code = ops->fill(g->device, g->slots, 0, 4, 2 * g->count, stream, error);
  if (!code) code = ops->fill(g->device, kept, 0xFFFFFFFF, 4, 6, stream, error);
  g->sealed = 0;
  return code;
}

/* Enough threads for the words of memory, and no more than keep the device busy. */
static pg_code launch(pg_digest *g, pg_kernel *kernel, uint64_t words, const uint64_t *params,
                      size_t param_bytes, pg_stream *stream, pg_error *error) {
  uint64_t blocks = (words + BLOCK) / BLOCK;
  const pg_launch how = {.kernel = kernel,
                         .grid = {blocks < GRID_MOST ? (uint32_t)blocks : GRID_MOST, 1, 1},
                         .block = {words ? BLOCK : 1, 1, 1},
                         .params = params,
                         .param_bytes = param_bytes};
  return g->device->ops->launch(g->device, &how, stream, error);
}

pg_code pg_digest_add(pg_digest *g, size_t slot, uint64_t part, pg_ptr from, size_t bytes,
                      pg_stream *stream, pg_error *error) {
  const uint64_t params[] = {from, bytes, g->slots + 8 * slot, g->key[0], g->key[1] + part};
  if (bytes == 0) return PG_OK;
  return launch(g, g->sum, bytes / 8 + 1, params, sizeof params, stream, error);
}

pg_code pg_digest_keep(pg_digest *g, size_t slot, uint64_t right, pg_ptr to, pg_ptr from,
                       size_t bytes, pg_stream *stream, pg_error *error) {
  const uint64_t params[] = {from, bytes, to, g->slots + 8 * slot, right, g->slots + 8 * g->count,
                             slot};
  if (bytes == 0) return PG_OK;
  return launch(g, g->keep, bytes / 8 + 1, params, sizeof params, stream, error);
}

pg_code pg_digest_seal(pg_digest *g, pg_stream *stream, pg_error *error) {
  size_t slot = g->sealed++;
  const uint64_t params[] = {g->slots + 8 * slot, slot, g->slots + 8 * (g->count + 2),
                             g->seal_key[0], g->seal_key[1]};
  return launch(g, g->seal, 0, params, sizeof params, stream, error);
}

/* As the kernels do. */
static uint64_t mix(const uint64_t key[2], uint64_t word, uint64_t place) {
  uint64_t x = (word ^ key[0]) + place * 0x9e3779b97f4a7c15U;
  x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9U) ^ key[1];
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  return x ^ x >> 31;
}

static uint64_t seal_of(const pg_digest *g, const uint64_t *digests) {
  uint64_t seal = UINT64_MAX;
  for (size_t i = 0; i < g->sealed; i++)
    seal = mix(g->seal_key, digests[i], i) + mix(g->seal_key, seal, UINT64_MAX);
  return seal;
}

pg_code pg_digest_read(pg_digest *g, uint64_t *to, size_t count, size_t *kept, bool *whole,
                       pg_stream *stream, pg_error *error) {
  const pg_device_ops *ops = g->device->ops;
  uint64_t last[3] = {0};
  pg_code code = ops->download(g->device, to, g->slots, 8 * count, stream, error);
  if (!code)
    code = ops->download(g->device, last, g->slots + 8 * g->count, sizeof last, stream, error);
  if (!code) code = ops->stream_sync(g->device, stream, error);
  if (kept) *kept = (size_t)last[0];
  if (whole) *whole = !code && g->sealed <= count && last[2] == seal_of(g, to);
  return code;
}

pg_code pg_digest_touch(pg_digest *g, pg_ptr from, size_t bytes, pg_stream *stream,
                        pg_error *error) {
  return pg_digest_add(g, g->count + 1, 0, from, bytes, stream, error);
}

pg_code pg_digest_of(pg_digest *g, pg_ptr from, size_t bytes, uint64_t *out, pg_stream *stream,
                     pg_error *error) {
  const pg_device_ops *ops = g->device->ops;
  size_t slot = g->count + 1;
  pg_ptr at = g->slots + 8 * slot;
  pg_code code = ops->fill(g->device, at, 0, 4, 2, stream, error);
  if (!code) code = pg_digest_add(g, slot, 0, from, bytes, stream, error);
  if (!code) code = ops->download(g->device, out, at, sizeof *out, stream, error);
  return code ? code : ops->stream_sync(g->device, stream, error);
}

void pg_digest_free(pg_digest *g) {
  if (!g->device) return;
  g->device->ops->free(g->device, g->slots, NULL);
  if (g->module) g->device->ops->unload(g->device, g->module);
  memset(g, 0, sizeof *g);
}
