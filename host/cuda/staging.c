/* Large copies between pageable host memory and the GPU. The driver's own path copies through one
 * pinned buffer with one thread, a fraction of what PCIe carries. Here several threads take chunks
 * in turn; each has a stream and two pinned buffers, so that its memcpy overlaps its transfer. */
#include "../parallel.h"
#include "state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4 << 20, LANES = 8, SLOTS = 2 };

typedef struct lane { /* what one thread copies with */
  CUstream stream;
  void *pinned[SLOTS];
  CUevent done[SLOTS];
} lane;

typedef struct pg_staging {
  int lanes;
  lane lane[LANES];
} pg_staging;

typedef struct job {
  pg_cuda *cuda;
  pg_ptr device;
  char *host;
  size_t bytes;
  bool up;
  atomic_size_t next;  /* chunk to take */
  atomic_uint failure; /* first cu_result that is none of success */
} job;

typedef struct hand {
  job *job;
  lane *lane;
  pthread_t thread;
  bool started;
  /* What each slot still holds: where it goes to (downloads) and whether its transfer may be in
   * flight. */
  size_t offset[SLOTS], bytes[SLOTS];
} hand;

static cu_result wait_slot(hand *h, int slot) {
  if (h->bytes[slot] == 0) return PG_CU_SUCCESS;
  cu_result result = h->job->cuda->driver.EventSynchronize(h->lane->done[slot]);
  if (!result && !h->job->up)
    memcpy(h->job->host + h->offset[slot], h->lane->pinned[slot], h->bytes[slot]);
  h->bytes[slot] = 0;
  return result;
}

static cu_result send_chunk(hand *h, int slot, size_t offset, size_t bytes) {
  const job *j = h->job;
  const pg_driver *driver = &j->cuda->driver;
  void *pinned = h->lane->pinned[slot];
  cu_result result;
  if (j->up) {
    memcpy(pinned, j->host + offset, bytes);
    result = driver->MemcpyHtoDAsync(j->device + offset, pinned, bytes, h->lane->stream);
  } else {
    result = driver->MemcpyDtoHAsync(pinned, j->device + offset, bytes, h->lane->stream);
  }
  if (!result) result = driver->EventRecord(h->lane->done[slot], h->lane->stream);
  if (result) return result;
  h->offset[slot] = offset;
  h->bytes[slot] = bytes;
  return PG_CU_SUCCESS;
}

static void *work(void *argument) {
  hand *h = argument;
  job *j = h->job;
  cu_result result = j->cuda->driver.CtxSetCurrent(j->cuda->context);
  int slot = 0;
  while (!result && !atomic_load(&j->failure)) {
    size_t offset = atomic_fetch_add(&j->next, 1) * (size_t)CHUNK;
    if (offset >= j->bytes) break;
    size_t bytes = j->bytes - offset < CHUNK ? j->bytes - offset : CHUNK;
    result = wait_slot(h, slot);
    if (!result) result = send_chunk(h, slot, offset, bytes);
    slot = (slot + 1) % SLOTS;
  }
  for (int i = 0; i < SLOTS;
       i++) { /* also after a failure: the buffers must be idle when we leave */
    cu_result last = wait_slot(h, (slot + i) % SLOTS);
    if (!result) result = last;
  }
  unsigned none = PG_CU_SUCCESS;
  if (result) atomic_compare_exchange_strong(&j->failure, &none, result);
  return NULL;
}

static bool make_lane(const pg_driver *driver, lane *l) {
  if (driver->StreamCreate(&l->stream, PG_CU_STREAM_NON_BLOCKING)) return false;
  for (int i = 0; i < SLOTS; i++)
    if (driver->MemHostAlloc(&l->pinned[i], CHUNK, PG_CU_HOST_PORTABLE) ||
        driver->EventCreate(&l->done[i], PG_CU_EVENT_DISABLE_TIMING))
      return false;
  return true;
}

static void free_lane(const pg_driver *driver, lane *l) {
  for (int i = 0; i < SLOTS; i++) {
    if (l->done[i]) driver->EventDestroy(l->done[i]);
    if (l->pinned[i]) driver->MemFreeHost(l->pinned[i]);
  }
  if (l->stream) driver->StreamDestroy(l->stream);
  memset(l, 0, sizeof *l);
}

/* NULL only without host memory; a staging area of no lanes says that pinned memory was refused. */
static pg_staging *staging_of(pg_cuda *cuda) {
  if (cuda->staging) return cuda->staging;
  pg_staging *staging = calloc(1, sizeof *staging);
  if (!staging) return NULL;
  int wanted = pg_cores() > LANES ? LANES : pg_cores();
  while (staging->lanes < wanted && make_lane(&cuda->driver, &staging->lane[staging->lanes]))
    staging->lanes++;
  if (staging->lanes < wanted) free_lane(&cuda->driver, &staging->lane[staging->lanes]);
  cuda->staging = staging;
  return staging;
}

void pg_staging_free(pg_cuda *cuda) {
  if (!cuda->staging) return;
  for (int i = 0; i < cuda->staging->lanes; i++) free_lane(&cuda->driver, &cuda->staging->lane[i]);
  free(cuda->staging);
  cuda->staging = NULL;
}

pg_code pg_staging_copy(pg_cuda *cuda, pg_ptr device, void *host, size_t bytes, bool up,
                        pg_error *error) {
  const char *doing = up ? "uploading" : "downloading";
  pg_staging *staging = staging_of(cuda);
  if (!staging || staging->lanes == 0) {
    cu_result result = up ? cuda->driver.MemcpyHtoD(device, host, bytes)
                          : cuda->driver.MemcpyDtoH(host, device, bytes);
    return pg_cuda_check(cuda, result, error, doing);
  }
  job j = {.cuda = cuda, .device = device, .host = host, .bytes = bytes, .up = up};
  hand hands[LANES];
  for (int i = 0; i < staging->lanes; i++) hands[i] = (hand){.job = &j, .lane = &staging->lane[i]};
  /* A thread that does not start is no loss: the others, and this one, take its chunks. */
  for (int i = 1; i < staging->lanes; i++)
    hands[i].started = pthread_create(&hands[i].thread, NULL, work, &hands[i]) == 0;
  work(&hands[0]);
  for (int i = 1; i < staging->lanes; i++)
    if (hands[i].started) pthread_join(hands[i].thread, NULL);
  return pg_cuda_check(cuda, atomic_load(&j.failure), error, doing);
}
