/* The simulator's speed against its peers: workloads that run on any backend, and the backends. A
 * bench owns its host arrays, a backend its buffers. */
#ifndef BENCH_SIM_H
#define BENCH_SIM_H

#include <stddef.h>
#include <stdint.h>

enum { BUFFERS = 7 };

typedef struct arg {
  char kind; /* 'b' buffer, 'u' 32-bit integer, 'f' float */
  uint32_t u;
  float f;
} arg;

typedef struct backend backend;
struct backend {
  const char *name;
  void *state;
  void (*buffer)(backend *, int index, size_t bytes); /* replaces what the index held */
  void (*write)(backend *, int index, const void *from, size_t bytes);
  void (*read)(backend *, int index, void *to, size_t bytes);
  /* blocks and threads in x and y */
  void (*launch)(backend *, const char *kernel, const uint32_t blocks[2], const uint32_t threads[2],
                 const arg *args, int count);
  void (*finish)(backend *);
};

backend *sim_backend(const char *spec, const char *ptx_file); /* "sim", "sim:check", ... */
backend *opencl_backend(const char *name, const char *cl_file);

typedef struct bench {
  uint32_t n;
  void *host[BUFFERS]; /* what every run starts from */
  size_t bytes[BUFFERS];
  double *expected;
  double items; /* of one run, in `unit` */
} bench;

typedef struct workload {
  const char *name, *unit;
  uint32_t n, small; /* small: for Oclgrind */
  void (*make)(bench *);
  void (*run)(const bench *, backend *);
  const char *(*check)(const bench *, backend *); /* NULL, or what is wrong */
} workload;

extern const workload WORKLOADS[]; /* ends with a NULL name; the first is the hash insert */

void bench_make(bench *, const workload *, uint32_t n);
void bench_free(bench *);
void bench_attach(const bench *, backend *); /* gives the backend its buffers */
void bench_reset(const bench *, backend *);  /* and what is in them */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
