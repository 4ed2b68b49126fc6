/* Times one kernel as a user of the driver API would by hand: an event before it, an event after
 * it, nothing of the judge's. timing.lua compares the judge's times with these, and ncu
 * profiles this program. event_loop PTX KERNEL N ROUNDS cold|hot SAMPLES prints the median in
 * microseconds. The kernel is (const unsigned *x, unsigned *y, int n, int rounds), in blocks of
 * 128. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"

enum { BLOCK = 128, SAMPLES_MOST = 2000 };

typedef struct loop {
  pg_driver cu;
  CUfunction kernel;
  CUdeviceptr x, y, flush;
  size_t flush_bytes;
  int n, rounds, samples;
  int cold;
  CUevent start[SAMPLES_MOST], stop[SAMPLES_MOST];
} loop;

static void must(const loop *l, cu_result result, const char *what) {
  if (!result) return;
  printf("event_loop: %s: %s\n", what, pg_driver_name(&l->cu, result));
  exit(3);
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0) {
    printf("event_loop: cannot read %s\n", path);
    exit(3);
  }
  fclose(file);
  return text;
}

static void open_device(loop *l, const char *ptx, const char *name) {
  pg_error error;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  int l2 = 0;
  if (pg_driver_open(&l->cu, &error)) {
    printf("event_loop: %s\n", error.message);
    exit(3);
  }
  must(l, l->cu.DeviceGet(&device, 0), "device");
  must(l, l->cu.DevicePrimaryCtxRetain(&context, device), "context");
  must(l, l->cu.CtxSetCurrent(context), "context");
  must(l, l->cu.DeviceGetAttribute(&l2, PG_CU_ATTRIBUTE_L2_CACHE_SIZE, device), "L2");
  char *text = read_file(ptx);
  must(l, l->cu.ModuleLoadDataEx(&module, text, 0, NULL, NULL), "module");
  must(l, l->cu.ModuleGetFunction(&l->kernel, module, name), name);
  free(text);
  l->flush_bytes = 4 * (size_t)l2;
}

static void make_memory(loop *l) {
  size_t bytes = 4 * (size_t)l->n;
  must(l, l->cu.MemAlloc(&l->x, bytes), "memory");
  must(l, l->cu.MemAlloc(&l->y, bytes), "memory");
  must(l, l->cu.MemAlloc(&l->flush, l->flush_bytes), "memory");
  must(l, l->cu.MemsetD8Async(l->x, 7, bytes, NULL), "fill");
  for (int i = 0; i < l->samples; i++) {
    must(l, l->cu.EventCreate(&l->start[i], PG_CU_EVENT_DEFAULT), "event");
    must(l, l->cu.EventCreate(&l->stop[i], PG_CU_EVENT_DEFAULT), "event");
  }
}

static void launch(loop *l) {
  void *params[] = {&l->x, &l->y, &l->n, &l->rounds};
  unsigned blocks = (unsigned)((l->n + BLOCK - 1) / BLOCK);
  must(l, l->cu.LaunchKernel(l->kernel, blocks, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL),
       "launch");
}

/* The write that flushes the cache also keeps the device busy until all is enqueued; in a hot
 * sample the kernel itself comes between. */
static void sample(loop *l, int i) {
  must(l, l->cu.MemsetD32Async(l->flush, 0, l->flush_bytes / 4, NULL), "flush");
  if (!l->cold) launch(l);
  must(l, l->cu.EventRecord(l->start[i], NULL), "event");
  launch(l);
  must(l, l->cu.EventRecord(l->stop[i], NULL), "event");
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  static loop l;
  static float ms[SAMPLES_MOST];
  if (argc != 7) {
    printf("usage: event_loop PTX KERNEL N ROUNDS cold|hot SAMPLES\n");
    return 2;
  }
  l.n = atoi(argv[3]);
  l.rounds = atoi(argv[4]);
  l.cold = strcmp(argv[5], "cold") == 0;
  l.samples = atoi(argv[6]);
  if (l.samples < 1 || l.samples > SAMPLES_MOST || l.n < 1) return 2;
  open_device(&l, argv[1], argv[2]);
  make_memory(&l);
  for (int i = 0; i < 3; i++) sample(&l, 0);
  for (int i = 0; i < l.samples; i++) sample(&l, i);
  must(&l, l.cu.CtxSynchronize(), "run");
  for (int i = 0; i < l.samples; i++) {
    cu_result result = l.cu.EventElapsedTime2
                           ? l.cu.EventElapsedTime2(&ms[i], l.start[i], l.stop[i])
                           : l.cu.EventElapsedTime(&ms[i], l.start[i], l.stop[i]);
    must(&l, result, "time");
  }
  qsort(ms, (size_t)l.samples, sizeof *ms, ascending);
  printf("%.4f\n", 1e3 * (double)ms[l.samples / 2]);
  return 0;
}
