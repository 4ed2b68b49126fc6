/* Memory of the CUDA device: allocations (kept sorted, so that a copy past the end of one is
 * refused with its name), copies and fills. Addresses that we did not hand out belong to libraries;
 * the driver judges them. */
#include "state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first block that starts after `at`. */
static size_t block_after(const pg_cuda *cuda, pg_ptr at) {
  size_t low = 0, high = cuda->block_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (cuda->blocks[middle].at <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static pg_block *block_of(pg_cuda *cuda, pg_ptr at) {
  size_t i = block_after(cuda, at);
  if (i == 0) return NULL;
  pg_block *block = &cuda->blocks[i - 1];
  return at - block->at < block->bytes ? block : NULL;
}

static pg_code check_range(pg_cuda *cuda, pg_ptr at, size_t bytes, const char *doing,
                           pg_error *error) {
  const pg_block *block = block_of(cuda, at);
  if (!block || bytes <= block->bytes - (at - block->at)) return PG_OK;
  return pg_fail(error, PG_RANGE, "%s %zu bytes at offset %" PRIu64 " of %s%s, which has %zu bytes",
                 doing, bytes, at - block->at, block->name[0] ? "buffer " : "a buffer", block->name,
                 block->bytes);
}

static pg_code add_block(pg_cuda *cuda, pg_ptr at, size_t bytes, pg_error *error) {
  if (cuda->block_count == cuda->block_room) {
    size_t room = cuda->block_room ? 2 * cuda->block_room : 32;
    pg_block *grown = realloc(cuda->blocks, room * sizeof *grown);
    if (!grown) return pg_fail(error, PG_MEMORY, "out of memory for the list of buffers");
    cuda->blocks = grown;
    cuda->block_room = room;
  }
  size_t i = block_after(cuda, at);
  memmove(&cuda->blocks[i + 1], &cuda->blocks[i], (cuda->block_count - i) * sizeof *cuda->blocks);
  cuda->blocks[i] = (pg_block){.at = at, .bytes = bytes};
  cuda->block_count++;
  return PG_OK;
}

static pg_code out_of_memory(pg_cuda *cuda, size_t bytes, pg_error *error) {
  size_t available = 0, total = 0;
  cuda->driver.MemGetInfo(&available, &total);
  pg_fail(error, PG_MEMORY, "%s has no room for %zu bytes: %zu of %zu are free", cuda->info.spec,
          bytes, available, total);
  return pg_hint(error, "make the problem smaller, or free buffers first");
}

pg_code pg_cuda_alloc(pg_device *device, size_t bytes, pg_ptr *out, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  *out = 0;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  if (bytes == 0) return pg_fail(error, PG_RANGE, "a buffer of 0 bytes was asked for");
  CUdeviceptr at = 0;
  cu_result result = cuda->driver.MemAlloc(&at, bytes);
  if (result == PG_CU_OUT_OF_MEMORY) return out_of_memory(cuda, bytes, error);
  if (result) return pg_cuda_check(cuda, result, error, "allocating memory");
  code = add_block(cuda, at, bytes, error);
  if (code)
    cuda->driver.MemFree(at);
  else
    *out = at;
  return code;
}

pg_code pg_cuda_free(pg_device *device, pg_ptr at, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (!at) return PG_OK;
  pg_block *block = block_of(cuda, at);
  if (!block || block->at != at)
    return pg_fail(error, PG_INVALID, "0x%" PRIx64 " is not the start of a buffer", at);
  size_t rest = (size_t)(cuda->blocks + cuda->block_count - block - 1);
  memmove(block, block + 1, rest * sizeof *block);
  cuda->block_count--;
  pg_code code = pg_cuda_use(cuda, error);
  return code ? code : pg_cuda_check(cuda, cuda->driver.MemFree(at), error, "freeing memory");
}

void pg_cuda_free_blocks(pg_cuda *cuda) {
  for (size_t i = 0; i < cuda->block_count; i++) cuda->driver.MemFree(cuda->blocks[i].at);
  free(cuda->blocks);
  cuda->blocks = NULL;
  cuda->block_count = cuda->block_room = 0;
}

/* A GPU's faults carry no address, so names serve the messages of copies only; read-only is the
 * simulator's. */
pg_code pg_cuda_name(pg_device *device, pg_ptr start, size_t bytes, const char *name,
                     bool read_only, pg_error *error) {
  (void)read_only;
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = check_range(cuda, start, bytes, "naming", error);
  if (code) return code;
  pg_block *block = block_of(cuda, start);
  if (!block) return pg_fail(error, PG_INVALID, "0x%" PRIx64 " lies in no buffer", start);
  if (start == block->at && bytes == block->bytes)
    snprintf(block->name, sizeof block->name, "%s", name);
  return PG_OK;
}

static CUstream handle_of(const pg_stream *stream) {
  return stream ? stream->handle : NULL;
}

/* Large copies are staged through pinned memory, in step with whatever was enqueued before them. */
static pg_code staged(pg_cuda *cuda, pg_ptr at, void *host, size_t bytes, bool up,
                      pg_stream *stream, pg_error *error) {
  cu_result result =
      stream ? cuda->driver.StreamSynchronize(stream->handle) : cuda->driver.CtxSynchronize();
  if (result) return pg_cuda_check(cuda, result, error, "waiting before a copy");
  return pg_staging_copy(cuda, at, host, bytes, up, error);
}

static pg_code transfer_check(pg_cuda *cuda, pg_ptr at, const void *host, size_t bytes,
                              const char *doing, pg_error *error) {
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  if (!host) return pg_fail(error, PG_INVALID, "%s %zu bytes: no host memory given", doing, bytes);
  return check_range(cuda, at, bytes, doing, error);
}

pg_code pg_cuda_upload(pg_device *device, pg_ptr to, const void *from, size_t bytes,
                       pg_stream *stream, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (bytes == 0) return PG_OK;
  pg_code code = transfer_check(cuda, to, from, bytes, "uploading", error);
  if (code) return code;
  if (bytes >= PG_STAGING_FROM) /* the cast: one function serves both ways; up never writes there */
    return staged(cuda, to, (void *)(uintptr_t)from, bytes, true, stream, error);
  cu_result result = stream ? cuda->driver.MemcpyHtoDAsync(to, from, bytes, stream->handle)
                            : cuda->driver.MemcpyHtoD(to, from, bytes);
  return pg_cuda_check(cuda, result, error, "uploading");
}

pg_code pg_cuda_download(pg_device *device, void *to, pg_ptr from, size_t bytes, pg_stream *stream,
                         pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (bytes == 0) return PG_OK;
  pg_code code = transfer_check(cuda, from, to, bytes, "downloading", error);
  if (code) return code;
  if (bytes >= PG_STAGING_FROM) return staged(cuda, from, to, bytes, false, stream, error);
  cu_result result = stream ? cuda->driver.MemcpyDtoHAsync(to, from, bytes, stream->handle)
                            : cuda->driver.MemcpyDtoH(to, from, bytes);
  return pg_cuda_check(cuda, result, error, "downloading");
}

pg_code pg_cuda_copy(pg_device *device, pg_ptr to, pg_ptr from, size_t bytes, pg_stream *stream,
                     pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (bytes == 0) return PG_OK;
  pg_code code = pg_cuda_use(cuda, error);
  if (!code) code = check_range(cuda, to, bytes, "copying to", error);
  if (!code) code = check_range(cuda, from, bytes, "copying from", error);
  if (code) return code;
  cu_result result = cuda->driver.MemcpyDtoDAsync(to, from, bytes, handle_of(stream));
  return pg_cuda_check(cuda, result, error, "copying on the device");
}

pg_code pg_cuda_fill(pg_device *device, pg_ptr to, uint32_t pattern, int pattern_bytes,
                     size_t count, pg_stream *stream, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4)
    return pg_fail(error, PG_INVALID, "a fill pattern has 1, 2 or 4 bytes, not %d", pattern_bytes);
  size_t bytes;
  if (__builtin_mul_overflow(count, (size_t)pattern_bytes, &bytes))
    return pg_fail(error, PG_RANGE, "filling %zu patterns of %d bytes", count, pattern_bytes);
  if (to % (unsigned)pattern_bytes)
    return pg_fail(error, PG_INVALID,
                   "0x%" PRIx64 " is not aligned to the %d bytes of a fill pattern", to,
                   pattern_bytes);
  pg_code code = pg_cuda_use(cuda, error);
  if (!code) code = check_range(cuda, to, bytes, "filling", error);
  if (code || bytes == 0) return code;
  const pg_driver *driver = &cuda->driver;
  CUstream on = handle_of(stream);
  cu_result result =
      pattern_bytes == 1   ? driver->MemsetD8Async(to, (unsigned char)pattern, count, on)
      : pattern_bytes == 2 ? driver->MemsetD16Async(to, (unsigned short)pattern, count, on)
                           : driver->MemsetD32Async(to, pattern, count, on);
  return pg_cuda_check(cuda, result, error, "filling");
}
