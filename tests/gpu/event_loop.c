/* Times one kernel as a user of the driver API would by hand: an event before it, an event after
 * it, nothing of the judge's. timing.lua compares the judge's times with these, and ncu profiles
 * this program. event_loop PTX KERNEL N ROUNDS cold|hot|graph SAMPLES prints the median in
 * microseconds; of a graph, that of one launch more. The kernel is (const unsigned *x, unsigned *y,
 * int n, int rounds), in blocks of 128. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/driver.h"

enum { BLOCK = 128, SAMPLES_MOST = 2000, LAUNCHES = 17 };

typedef struct loop {
  pg_driver cu;
  CUfunction kernel;
  CUdeviceptr x, y, flush;
  size_t flush_bytes;
  int n, rounds, samples;
  char method;           /* c, h, g */
  CUgraphExec graphs[2]; /* of one launch and of LAUNCHES */
  CUstream stream;
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
  must(l, l->cu.StreamCreate(&l->stream, PG_CU_STREAM_NON_BLOCKING), "stream");
  must(l, l->cu.MemAlloc(&l->x, bytes), "memory");
  must(l, l->cu.MemAlloc(&l->y, bytes), "memory");
  must(l, l->cu.MemAlloc(&l->flush, l->flush_bytes), "memory");
  must(l, l->cu.MemsetD8Async(l->x, 7, bytes, l->stream), "fill");
  for (int i = 0; i < l->samples; i++) {
    must(l, l->cu.EventCreate(&l->start[i], PG_CU_EVENT_DEFAULT), "event");
    must(l, l->cu.EventCreate(&l->stop[i], PG_CU_EVENT_DEFAULT), "event");
  }
}

static void launch(loop *l) {
  void *params[] = {&l->x, &l->y, &l->n, &l->rounds};
  unsigned blocks = (unsigned)((l->n + BLOCK - 1) / BLOCK);
  must(l, l->cu.LaunchKernel(l->kernel, blocks, 1, 1, BLOCK, 1, 1, 0, l->stream, params, NULL),
       "launch");
}

static void make_graph(loop *l, CUgraphExec *out, int launches) {
  CUgraph graph;
  must(l, l->cu.StreamBeginCapture(l->stream, PG_CU_CAPTURE_RELAXED), "capture");
  for (int i = 0; i < launches; i++) launch(l);
  must(l, l->cu.StreamEndCapture(l->stream, &graph), "capture");
  must(l, l->cu.GraphInstantiate(out, graph, 0), "graph");
}

/* The write that flushes the cache also keeps the device busy until all is enqueued, then the host
 * waits; in a hot sample the kernel itself comes between. */
static void sample(loop *l, int i, int graph) {
  must(l, l->cu.MemsetD32Async(l->flush, 0, l->flush_bytes / 4, l->stream), "flush");
  if (l->method != 'c') launch(l);
  must(l, l->cu.EventRecord(l->start[i], l->stream), "event");
  if (l->method == 'g')
    must(l, l->cu.GraphLaunch(l->graphs[graph], l->stream), "graph");
  else
    launch(l);
  must(l, l->cu.EventRecord(l->stop[i], l->stream), "event");
  must(l, l->cu.CtxSynchronize(), "run");
}

static int ascending(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

/* The median in microseconds. */
static double median(loop *l, int graph) {
  static float ms[SAMPLES_MOST];
  for (int i = 0; i < 3; i++) sample(l, 0, graph);
  for (int i = 0; i < l->samples; i++) sample(l, i, graph);
  for (int i = 0; i < l->samples; i++) {
    cu_result result = l->cu.EventElapsedTime2
                           ? l->cu.EventElapsedTime2(&ms[i], l->start[i], l->stop[i])
                           : l->cu.EventElapsedTime(&ms[i], l->start[i], l->stop[i]);
    must(l, result, "time");
  }
  qsort(ms, (size_t)l->samples, sizeof *ms, ascending);
  return 1e3 * (double)ms[l->samples / 2];
}

int main(int argc, char **argv) {
  static loop l;
  if (argc != 7) {
    printf("usage: event_loop PTX KERNEL N ROUNDS cold|hot|graph SAMPLES\n");
    return 2;
  }
  l.n = atoi(argv[3]);
  l.rounds = atoi(argv[4]);
  l.method = argv[5][0];
  l.samples = atoi(argv[6]);
  if (l.samples < 1 || l.samples > SAMPLES_MOST || l.n < 1) return 2;
  open_device(&l, argv[1], argv[2]);
  make_memory(&l);
  if (l.method == 'g') {
    make_graph(&l, &l.graphs[0], 1);
    make_graph(&l, &l.graphs[1], LAUNCHES);
    printf("%.4f\n", (median(&l, 1) - median(&l, 0)) / (LAUNCHES - 1));
  } else {
    printf("%.4f\n", median(&l, 0));
  }
  return 0;
}
