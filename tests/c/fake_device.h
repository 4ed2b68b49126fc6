/* A device in memory for the tests of the runner: kernels are C functions found by name, every
 * access is checked against the allocations, and a log and a virtual clock show in which order
 * things were enqueued. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device.h"

enum { FAKE_BLOCKS = 8192, FAKE_NAMES = 1024, FAKE_L2 = 64 << 10, FAKE_FRESH = 0xA5 };

typedef struct fake_block {
  uint8_t *data;
  size_t bytes;
} fake_block;

typedef struct fake_name {
  pg_ptr start;
  size_t bytes;
  char name[64];
  bool read_only;
} fake_name;

typedef struct fake {
  pg_device base;
  bool gpu;     /* "fake:gpu": a GPU's clock and cache, and no life after a fault */
  size_t limit; /* bytes of memory; 0: any amount */
  fake_block blocks[FAKE_BLOCKS];
  fake_name names[FAKE_NAMES];
  int name_count;
  size_t live_bytes;
  int live_blocks, live_modules, live_events, live_streams, streams_made;
  size_t left;    /* bytes in memory that was freed that are neither 0 nor as they were allocated */
  int violations; /* accesses of the host outside any allocation */
  double clock_us, limit_s;
  pg_fault fault;
  bool faulted;
  pg_counters counters;
  char log[1 << 16]; /* one letter an operation: u d c f upload, download, copy, fill; L launch, E
                        event, S sync, s of a stream, G graph, g one of one launch */
  size_t log_used;
  struct pg_graph *capturing; /* launches go there */
  int live_graphs, unpinned;
  int late;        /* so many of the next questions find that the device has been there */
  int variable[4]; /* "counter" of every module */
} fake;

/* ---- kernels ---- */

struct pg_kernel {
  const char *name;
  const char *params; /* p pointer, c i l integers of 1, 4, 8 bytes, f d floats, q 8 bytes of
                         unknown kind, T 128 bytes */
  void (*run)(fake *, const uint8_t *);
};

struct pg_module {
  char image[256];
};

static uint64_t fake_arg(const uint8_t *params, size_t at) {
  uint64_t v;
  memcpy(&v, params + at, 8);
  return v;
}

static bool fake_inside(const fake *f, pg_ptr at, size_t bytes) {
  if (at == (pg_ptr)(uintptr_t)f->variable && bytes <= sizeof f->variable) return true;
  for (int i = 0; i < FAKE_BLOCKS; i++) {
    pg_ptr start = (pg_ptr)(uintptr_t)f->blocks[i].data;
    if (start && at >= start && at - start <= f->blocks[i].bytes &&
        bytes <= f->blocks[i].bytes - (at - start))
      return true;
  }
  return false;
}

/* Where a kernel may touch `bytes` bytes; else it faults and NULL comes back. */
static void *fake_access(fake *f, pg_ptr at, size_t bytes) {
  if (fake_inside(f, at, bytes)) return (void *)(uintptr_t)at;
  f->faulted = true;
  f->fault = (pg_fault){.kind = PG_FAULT_OUT_OF_BOUNDS, .text = "outside every allocation"};
  return NULL;
}

static int fake_int(const uint8_t *params, size_t at) {
  int v;
  memcpy(&v, params + at, 4);
  return v;
}

/* saxpy(float *y, const float *x, float a, int n) */
static void fake_saxpy(fake *f, const uint8_t *params) {
  int n = fake_int(params, 20);
  size_t bytes = n > 0 ? 4 * (size_t)n : 0;
  float *y = fake_access(f, fake_arg(params, 0), bytes), a;
  const float *x = fake_access(f, fake_arg(params, 8), bytes);
  memcpy(&a, params + 16, 4);
  for (int i = 0; x && y && i < n; i++) y[i] += a * x[i];
}

/* store(char *to, char, int, long, float, double): the packed values, without padding */
static void fake_store(fake *f, const uint8_t *params) {
  uint8_t *to = fake_access(f, fake_arg(params, 0), 25);
  if (!to) return;
  memcpy(to, params + 8, 1);
  memcpy(to + 1, params + 12, 4);
  memcpy(to + 5, params + 16, 8);
  memcpy(to + 13, params + 24, 4);
  memcpy(to + 17, params + 32, 8);
}

/* wild(char *at, long offset): changes the byte there */
static void fake_wild(fake *f, const uint8_t *params) {
  uint8_t *at = fake_access(f, fake_arg(params, 0) + fake_arg(params, 8), 1);
  if (at) *at ^= 0xFF;
}

/* spoil(long bytes): changes the first byte of every allocation of that size */
static void fake_spoil(fake *f, const uint8_t *params) {
  for (int i = 0; i < FAKE_BLOCKS; i++)
    if (f->blocks[i].data && f->blocks[i].bytes == fake_arg(params, 0))
      f->blocks[i].data[0] ^= 0xFF;
}

/* add(int *to, int by) */
static void fake_add(fake *f, const uint8_t *params) {
  int *to = fake_access(f, fake_arg(params, 0), sizeof *to);
  if (to) *to += fake_int(params, 8);
}

/* reach(int *count, int goal): counts count[1] up; count[0] is 1 from the goal on */
static void fake_reach(fake *f, const uint8_t *params) {
  int *count = fake_access(f, fake_arg(params, 0), 2 * sizeof *count);
  if (count) count[0] = ++count[1] >= fake_int(params, 8);
}

/* remember(int *to): adds one to the module's counter, and says what it is then */
static void fake_remember(fake *f, const uint8_t *params) {
  int *to = fake_access(f, fake_arg(params, 0), sizeof *to);
  if (to) *to = ++f->variable[0];
}

/* tensor(map): what the map says of itself goes to the memory that it maps. */
static void fake_tensor(fake *f, const uint8_t *params) {
  int *to = fake_access(f, fake_arg(params, 0), 4 * sizeof *to);
  if (to) memcpy(to, params + 8, 4 * sizeof *to);
}

static void fake_nothing(fake *f, const uint8_t *params) {
  (void)f;
  (void)params;
}

static void fake_trap(fake *f, const uint8_t *params) {
  (void)params;
  f->faulted = true;
  f->fault = (pg_fault){.kind = PG_FAULT_OUT_OF_BOUNDS,
                        .located = true,
                        .kernel = "trap",
                        .block = {1, 2, 3},
                        .thread = {4, 5, 6},
                        .file = "trap.cu",
                        .line = 7,
                        .address = UINT64_MAX,
                        .access_bytes = 4,
                        .space = "global",
                        .allocation = "y",
                        .distance = 4,
                        .text = "store of 4 bytes 4 past the end of y"};
}

/* Sanitizers take SIGSEGV for themselves; here it must end the process. */
static void fake_crash(fake *f, const uint8_t *params) {
  (void)f;
  (void)params;
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

static void fake_hang(fake *f, const uint8_t *params) {
  (void)f;
  (void)params;
  for (;;) sleep(1000);
}

/* eat(int mebibytes): holds them for a moment */
static void fake_eat(fake *f, const uint8_t *params) {
  (void)f;
  size_t bytes = (size_t)fake_int(params, 0) << 20;
  volatile char *food = malloc(bytes);
  for (size_t i = 0; food && i < bytes; i += 4096) food[i] = 1;
  usleep(500000);
  free((void *)(uintptr_t)food);
}

static void fake_doze(fake *f, const uint8_t *params) {
  (void)f;
  (void)params;
  usleep(500000);
}

static void fake_quit(fake *f, const uint8_t *params) {
  (void)f;
  (void)params;
  _exit(7);
}

/* print(int times) */
static void fake_print(fake *f, const uint8_t *params) {
  (void)f;
  for (int i = 0; i < fake_int(params, 0); i++) printf("hello from the kernel\n");
}

/* breed(): a process in the runner's group that sleeps; its id is printed */
static void fake_breed(fake *f, const uint8_t *params) {
  (void)f;
  (void)params;
  pid_t pid = fork();
  if (pid == 0)
    for (;;) sleep(1000);
  printf("%d\n", (int)pid);
}

static struct pg_kernel fake_kernels[] = {
    {"saxpy", "ppfi", fake_saxpy}, {"store", "pcilfd", fake_store},
    {"wild", "pl", fake_wild},     {"spoil", "l", fake_spoil},
    {"add", "pi", fake_add},       {"nothing", "", fake_nothing},
    {"trap", "", fake_trap},       {"crash", "", fake_crash},
    {"hang", "", fake_hang},       {"quit", "", fake_quit},
    {"print", "i", fake_print},    {"breed", "", fake_breed},
    {"opaque", "q", fake_nothing}, {"doze", "", fake_doze},
    {"reach", "pi", fake_reach},   {"tensor", "T", fake_tensor},
    {"eat", "i", fake_eat},        {"remember", "p", fake_remember},
};

enum { FAKE_KERNELS = sizeof fake_kernels / sizeof *fake_kernels };

/* ---- memory ---- */

static fake *fake_of(pg_device *d) {
  return (fake *)(void *)d;
}

static void fake_note(fake *f, char letter) {
  if (f->log_used + 1 < sizeof f->log) f->log[f->log_used++] = letter;
  f->log[f->log_used] = 0;
}

static pg_code fake_check(fake *f, pg_ptr at, size_t bytes, pg_error *error) {
  if (fake_inside(f, at, bytes)) return PG_OK;
  f->violations++;
  return pg_fail(error, PG_INTERNAL, "the host touched memory outside every allocation");
}

static pg_code fake_alloc(pg_device *d, size_t bytes, pg_ptr *out, pg_error *error) {
  fake *f = fake_of(d);
  *out = 0;
  if (bytes == 0) return pg_fail(error, PG_RANGE, "alloc of 0 bytes");
  if (f->limit && bytes > f->limit - f->live_bytes)
    return pg_fail(error, PG_MEMORY, "%zu bytes are left", f->limit - f->live_bytes);
  for (int i = 0; i < FAKE_BLOCKS; i++) {
    if (f->blocks[i].data) continue;
    void *data = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!data) return pg_fail(error, PG_MEMORY, "the host has no %zu bytes", bytes);
    memset(data, FAKE_FRESH, bytes);
    f->blocks[i] = (fake_block){data, bytes};
    f->live_bytes += bytes;
    f->live_blocks++;
    *out = (pg_ptr)(uintptr_t)data;
    return PG_OK;
  }
  return pg_fail(error, PG_MEMORY, "too many allocations for a fake");
}

static pg_code fake_free(pg_device *d, pg_ptr at, pg_error *error) {
  fake *f = fake_of(d);
  for (int i = 0; at && i < FAKE_BLOCKS; i++) {
    if ((pg_ptr)(uintptr_t)f->blocks[i].data != at) continue;
    f->live_bytes -= f->blocks[i].bytes;
    f->live_blocks--;
    for (size_t k = 0; k < f->blocks[i].bytes; k++)
      f->left += f->blocks[i].data[k] != 0 && f->blocks[i].data[k] != FAKE_FRESH;
    free(f->blocks[i].data);
    f->blocks[i] = (fake_block){NULL, 0};
    return PG_OK;
  }
  if (at) f->violations++;
  return at ? pg_fail(error, PG_INTERNAL, "free of what is no allocation") : PG_OK;
}

static pg_code fake_set_name(pg_device *d, pg_ptr start, size_t bytes, const char *name,
                             bool read_only, pg_error *error) {
  fake *f = fake_of(d);
  pg_code code = fake_check(f, start, bytes, error);
  if (code || f->name_count == FAKE_NAMES) return code;
  fake_name *n = &f->names[f->name_count++];
  *n = (fake_name){.start = start, .bytes = bytes, .read_only = read_only};
  snprintf(n->name, sizeof n->name, "%s", name);
  return PG_OK;
}

static pg_code fake_upload(pg_device *d, pg_ptr to, const void *from, size_t bytes, pg_stream *s,
                           pg_error *error) {
  (void)s;
  fake_note(fake_of(d), 'u');
  pg_code code = fake_check(fake_of(d), to, bytes, error);
  if (!code) memcpy((void *)(uintptr_t)to, from, bytes);
  return code;
}

static pg_code fake_download(pg_device *d, void *to, pg_ptr from, size_t bytes, pg_stream *s,
                             pg_error *error) {
  (void)s;
  fake_note(fake_of(d), 'd');
  pg_code code = fake_check(fake_of(d), from, bytes, error);
  if (!code) memcpy(to, (const void *)(uintptr_t)from, bytes);
  return code;
}

static pg_code fake_copy(pg_device *d, pg_ptr to, pg_ptr from, size_t bytes, pg_stream *s,
                         pg_error *error) {
  (void)s;
  fake_note(fake_of(d), 'c');
  fake_of(d)->clock_us += 1;
  pg_code code = fake_check(fake_of(d), to, bytes, error);
  if (!code) code = fake_check(fake_of(d), from, bytes, error);
  if (!code) memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return code;
}

static pg_code fake_fill(pg_device *d, pg_ptr to, uint32_t pattern, int pattern_bytes, size_t count,
                         pg_stream *s, pg_error *error) {
  (void)s;
  fake_note(fake_of(d), 'f');
  fake_of(d)->clock_us += 1;
  pg_code code = fake_check(fake_of(d), to, count * (size_t)pattern_bytes, error);
  for (size_t i = 0; !code && i < count; i++)
    memcpy((uint8_t *)(uintptr_t)to + i * (size_t)pattern_bytes, &pattern, (size_t)pattern_bytes);
  return code;
}

/* ---- modules ---- */

static pg_code fake_load(pg_device *d, const void *image, size_t bytes, const char *name,
                         pg_module **out, pg_error *error) {
  if (bytes != strlen(image) || strncmp(image, "fake", 4) != 0) {
    pg_fail(error, PG_SYNTAX, "not an image of the fake device");
    return pg_where(error, "%s:1", name);
  }
  *out = calloc(1, sizeof **out);
  if (!*out) return pg_fail(error, PG_MEMORY, "no memory");
  fake_of(d)->live_modules++;
  return PG_OK;
}

static void fake_unload(pg_device *d, pg_module *module) {
  fake_of(d)->live_modules--;
  free(module);
}

static pg_code fake_kernel(pg_device *d, pg_module *module, const char *name, pg_kernel **out,
                           pg_error *error) {
  (void)d;
  (void)module;
  for (size_t i = 0; i < FAKE_KERNELS; i++)
    if (strcmp(fake_kernels[i].name, name) == 0) {
      *out = &fake_kernels[i];
      return PG_OK;
    }
  return pg_fail(error, PG_NOT_FOUND, "no kernel %.50s", name);
}

static pg_code fake_kernel_info(pg_device *d, pg_kernel *kernel, pg_kernel_info *info,
                                pg_error *error) {
  (void)d;
  (void)error;
  snprintf(info->name, sizeof info->name, "%s", kernel->name);
  for (const char *p = kernel->params; *p; p++) {
    uint32_t size = *p == 'c' ? 1 : *p == 'T' ? 128 : strchr("if", *p) ? 4 : 8;
    char kind = strchr("pqT", *p) ? *p : strchr("fd", *p) ? 'f' : 'i';
    if (kind == 'q' || kind == 'T') kind = kind == 'q' ? '?' : 'b';
    info->param_bytes = (info->param_bytes + size - 1) / size * size;
    info->params[info->param_count++] = (pg_param){info->param_bytes, size, kind};
    info->param_bytes += size;
  }
  info->registers = 10;
  info->max_threads = 1024;
  return PG_OK;
}

static const char *fake_kernel_name(pg_device *d, pg_module *module, int index) {
  (void)d;
  (void)module;
  return index < FAKE_KERNELS ? fake_kernels[index].name : NULL;
}

/* ---- execution ---- */

enum { FAKE_GRAPH = 64 };

struct pg_graph {
  size_t count;
  struct {
    struct pg_kernel *kernel;
    uint8_t params[64];
  } launches[FAKE_GRAPH];
};

static pg_code fake_launch(pg_device *d, const pg_launch *l, pg_stream *s, pg_error *error) {
  fake *f = fake_of(d);
  (void)s;
  if (f->capturing) {
    size_t i = f->capturing->count++;
    f->capturing->launches[i].kernel = l->kernel;
    memcpy(f->capturing->launches[i].params, l->params, l->param_bytes);
    return PG_OK;
  }
  if (l->block[0] > 1024)
    return pg_fail(error, PG_LAUNCH, "a block of %u threads is too large", l->block[0]);
  fake_note(f, 'L');
  f->clock_us += 10;
  f->counters.launches++;
  f->faulted = false;
  l->kernel->run(f, l->params);
  return f->faulted ? pg_fail(error, PG_LAUNCH, "kernel %s was stopped", l->kernel->name) : PG_OK;
}

static pg_code fake_graph_begin(pg_device *d, pg_stream *s, pg_error *error) {
  (void)s;
  fake_of(d)->capturing = calloc(1, sizeof(struct pg_graph));
  fake_of(d)->live_graphs++;
  return fake_of(d)->capturing ? PG_OK : pg_fail(error, PG_MEMORY, "no memory");
}

static void fake_graph_free(pg_device *d, pg_graph *graph) {
  fake_of(d)->live_graphs--;
  free(graph);
}

static pg_code fake_graph_end(pg_device *d, pg_stream *s, pg_graph **out, pg_error *error) {
  fake *f = fake_of(d);
  (void)s;
  (void)error;
  if (out)
    *out = f->capturing;
  else
    fake_graph_free(d, f->capturing);
  f->capturing = NULL;
  return PG_OK;
}

/* A graph takes 7 us to start, and 10 us a launch. */
static pg_code fake_graph_launch(pg_device *d, pg_graph *graph, pg_stream *s, pg_error *error) {
  fake *f = fake_of(d);
  (void)s;
  (void)error;
  fake_note(f, graph->count == 1 ? 'g' : 'G');
  f->clock_us += 7;
  for (size_t i = 0; i < graph->count; i++) {
    f->clock_us += 10;
    graph->launches[i].kernel->run(f, graph->launches[i].params);
  }
  return PG_OK;
}

static void fake_unpin(pg_device *d) {
  fake_of(d)->unpinned++;
}

static pg_code fake_global(pg_device *d, pg_module *module, const char *name, pg_ptr *at,
                           size_t *bytes, pg_error *error) {
  (void)module;
  if (strcmp(name, "counter") != 0) return pg_fail(error, PG_NOT_FOUND, "no %.50s", name);
  *at = (pg_ptr)(uintptr_t)fake_of(d)->variable;
  *bytes = sizeof fake_of(d)->variable;
  return PG_OK;
}

static pg_code fake_sync(pg_device *d, pg_error *error) {
  (void)error;
  fake_note(fake_of(d), 'S');
  return PG_OK;
}

static void fake_get_fault(pg_device *d, pg_fault *fault) {
  fake *f = fake_of(d);
  *fault = f->faulted ? f->fault : (pg_fault){0};
}

static void fake_get_counters(pg_device *d, pg_counters *counters, bool reset) {
  fake *f = fake_of(d);
  *counters = f->counters;
  if (reset) f->counters = (pg_counters){0};
}

static void fake_limit(pg_device *d, double seconds) {
  fake_of(d)->limit_s = seconds;
}

static pg_code fake_stream_new(pg_device *d, pg_stream **out, pg_error *error) {
  (void)error;
  fake_of(d)->live_streams++;
  *out = (pg_stream *)(uintptr_t)++fake_of(d)->streams_made;
  return PG_OK;
}

static pg_code fake_stream_sync(pg_device *d, pg_stream *s, pg_error *error) {
  fake_note(fake_of(d), 's');
  (void)s;
  (void)error;
  return PG_OK;
}

static void fake_stream_free(pg_device *d, pg_stream *s) {
  fake_note(fake_of(d), 'x');
  (void)s;
  fake_of(d)->live_streams--;
}

struct pg_event {
  double at;
};

static pg_code fake_event_new(pg_device *d, pg_event **out, pg_error *error) {
  *out = calloc(1, sizeof **out);
  if (!*out) return pg_fail(error, PG_MEMORY, "no memory");
  fake_of(d)->live_events++;
  return PG_OK;
}

static pg_code fake_event_record(pg_device *d, pg_event *event, pg_stream *s, pg_error *error) {
  (void)s;
  (void)error;
  fake_note(fake_of(d), 'E');
  event->at = fake_of(d)->clock_us;
  return PG_OK;
}

static pg_code fake_event_elapsed(pg_device *d, pg_event *start, pg_event *stop, double *us,
                                  pg_error *error) {
  (void)d;
  (void)error;
  *us = stop->at - start->at;
  return PG_OK;
}

static bool fake_event_pending(pg_device *d, pg_event *event) {
  (void)event;
  return fake_of(d)->late == 0 || fake_of(d)->late-- == 0;
}

static void fake_event_free(pg_device *d, pg_event *event) {
  fake_of(d)->live_events--;
  free(event);
}

static void fake_health(pg_device *d, pg_health *health) {
  (void)d;
  *health = (pg_health){1980, 3201, 41, 250000, 0};
}

/* Address, element type, rank, sum of the sides of shape and box, swizzle. */
static pg_code fake_tensor_map(pg_device *d, pg_ptr at, const pg_tensor *t, void *out,
                               pg_error *error) {
  (void)d;
  (void)error;
  int facts[4] = {t->scalar, t->rank, 0, t->swizzle};
  for (int i = 0; i < t->rank; i++) facts[2] += (int)t->shape[i] * 1000 + (int)t->box[i];
  memset(out, 0, PG_TENSOR_MAP_BYTES);
  memcpy(out, &at, sizeof at);
  memcpy((char *)out + sizeof at, facts, sizeof facts);
  return PG_OK;
}

static pg_code fake_info(pg_device *d, pg_device_info *info, pg_error *error) {
  fake *f = fake_of(d);
  (void)error;
  *info = (pg_device_info){.cc_major = 9,
                           .multiprocessors = 1,
                           .max_threads_per_block = 1024,
                           .max_grid = {UINT32_MAX, 65535, 65535},
                           .max_block = {1024, 1024, 64},
                           .l2_bytes = FAKE_L2,
                           .memory_bytes = f->limit ? f->limit : (size_t)1 << 40,
                           .gpu_clock = f->gpu};
  snprintf(info->spec, sizeof info->spec, "fake");
  snprintf(info->kind, sizeof info->kind, f->gpu ? "cuda" : "sim");
  snprintf(info->name, sizeof info->name, "a fake");
  return PG_OK;
}

static void fake_close(pg_device *d) {
  fake *f = fake_of(d);
  for (int i = 0; i < FAKE_BLOCKS; i++) free(f->blocks[i].data);
  free(f);
}

static uint64_t fake_stream_handle(pg_stream *stream) {
  (void)stream;
  return 77;
}

static const pg_device_ops fake_ops = {
    .close = fake_close,
    .info = fake_info,
    .alloc = fake_alloc,
    .free = fake_free,
    .name = fake_set_name,
    .upload = fake_upload,
    .download = fake_download,
    .copy = fake_copy,
    .fill = fake_fill,
    .load = fake_load,
    .unload = fake_unload,
    .kernel = fake_kernel,
    .kernel_info = fake_kernel_info,
    .kernel_name = fake_kernel_name,
    .global = fake_global,
    .launch = fake_launch,
    .sync = fake_sync,
    .fault = fake_get_fault,
    .counters = fake_get_counters,
    .limit = fake_limit,
    .stream_new = fake_stream_new,
    .stream_sync = fake_stream_sync,
    .stream_free = fake_stream_free,
    .stream_handle = fake_stream_handle,
    .event_new = fake_event_new,
    .event_record = fake_event_record,
    .event_elapsed = fake_event_elapsed,
    .event_free = fake_event_free,
    .event_pending = fake_event_pending,
    .graph_begin = fake_graph_begin,
    .graph_end = fake_graph_end,
    .graph_launch = fake_graph_launch,
    .graph_free = fake_graph_free,
    .unpin = fake_unpin,
    .health = fake_health,
    .tensor_map = fake_tensor_map,
};

/* "fake", "fake:gpu", "fake:small" (1 MiB of memory); anything else opens a real device. */
static pg_code fake_open(const char *spec, pg_device **out, pg_error *error) {
  if (strncmp(spec, "fake", 4) != 0) return pg_device_open(spec, out, error);
  fake *f = calloc(1, sizeof *f);
  if (!f) return pg_fail(error, PG_MEMORY, "no memory for a fake");
  f->base.ops = &fake_ops;
  f->gpu = strcmp(spec, "fake:gpu") == 0;
  f->limit = strcmp(spec, "fake:small") == 0 ? 1 << 20 : 0;
  *out = &f->base;
  return PG_OK;
}

#endif
