/* THE device interface: what every device (CUDA, simulator) implements, and all that the code above
 * sees. A device owns its modules, streams and events; closing it frees them. Objects of one device
 * never mix with another's. One thread uses a device at a time. Every call returns a pg_code and
 * fills the pg_error. */
#ifndef PG_DEVICE_H
#define PG_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"

typedef uint64_t pg_ptr; /* a device address */

typedef struct pg_device pg_device;
typedef struct pg_module pg_module;
typedef struct pg_kernel pg_kernel; /* lives as long as its module */
typedef struct pg_stream pg_stream; /* NULL: the default stream; copies on it are synchronous */
typedef struct pg_event pg_event;
typedef struct pg_graph pg_graph; /* launches, copies and fills that start as one */

typedef struct pg_device_info {
  char spec[64];          /* "cuda:0", "sim", "sim:check,workers=1,seed=7" */
  char kind[8];           /* "cuda" or "sim" */
  char name[128];         /* "NVIDIA H200"; "PTX simulator, 2 threads, AVX-512" */
  char driver[64];        /* "580.159.04 (CUDA 13.0)"; "" on sim */
  int cc_major, cc_minor; /* compute capability; sim presents 9.0 */
  int multiprocessors;
  int max_threads_per_block;
  uint32_t max_grid[3], max_block[3];
  size_t shared_per_block; /* bytes without opting in */
  size_t shared_per_block_optin;
  size_t l2_bytes;
  size_t memory_bytes;
  double memory_gbs; /* GB/s that memory moves by its clock and width; 0: not known */
  bool gpu_clock;    /* false: event times are the simulator's own wall time, never a GPU's */
} pg_device_info;

enum { PG_PARAM_MAX = 64, PG_KERNEL_NAME_MAX = 256 };

typedef struct pg_param {
  uint32_t offset, size; /* bytes */
  char kind;             /* 'p' pointer, 'i' integer, 'f' float, 'b' bytes (struct), '?' unknown */
} pg_param;

typedef struct pg_kernel_info {
  char name[PG_KERNEL_NAME_MAX];
  int param_count;
  pg_param params[PG_PARAM_MAX];
  uint32_t param_bytes;
  int registers;    /* a thread's; -1 unknown (sim: PTX does not say) */
  int local_bytes;  /* a thread's, spills included; -1 unknown */
  int shared_bytes; /* static */
  int max_threads;  /* a block's */
} pg_kernel_info;

typedef struct pg_launch {
  pg_kernel *kernel;
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* blocks of a cluster; all 0: as the kernel says */
  uint32_t shared;     /* dynamic shared memory, bytes */
  bool cooperative;
  const void *params; /* packed argument bytes, laid out as pg_kernel_info.params says */
  size_t param_bytes;
} pg_launch;

enum { PG_TENSOR_RANK_MAX = 5, PG_TENSOR_MAP_BYTES = 128 };

/* How a kernel's tensor copies see a buffer: the argument that CUDA calls a CUtensorMap. */
typedef struct pg_tensor {
  int scalar; /* pg_scalar of dtype.h */
  int rank;
  uint64_t shape[PG_TENSOR_RANK_MAX]; /* row-major and dense: the last index runs fastest */
  uint32_t box[PG_TENSOR_RANK_MAX];   /* what one copy moves */
  int swizzle;                        /* bytes: 0, 32, 64 or 128 */
} pg_tensor;

/* Why the last kernel stopped. */
typedef enum pg_fault_kind {
  PG_FAULT_NONE,
  PG_FAULT_OUT_OF_BOUNDS,
  PG_FAULT_MISALIGNED,
  PG_FAULT_UNINITIALIZED,
  PG_FAULT_RACE,
  PG_FAULT_TRAP, /* trap, brkpt, a failed assert */
  PG_FAULT_TIMEOUT,
  PG_FAULT_READ_ONLY, /* a write to a buffer that kernels must not change */
  PG_FAULT_DEADLOCK,  /* a barrier that some threads never reach */
  PG_FAULT_OTHER,
  PG_FAULT_DIVERGENCE, /* a barrier, shuffle, vote or match that not all of its threads reach */
  /* Findings that are no verdict: */
  PG_FAULT_WEAK_READ,     /* a plain read, unordered with writers that are all atomic */
  PG_FAULT_WEAK_WRITE,    /* plain writes of one value; reads that get it or the value before */
  PG_FAULT_EDGE_READ,     /* of the element behind those that were written, in shared memory */
  PG_FAULT_INACTIVE_LANE, /* a shuffle's result came from a lane that took no part */
  PG_FAULT_INCOMPLETE     /* a check that could not be done */
} pg_fault_kind;

enum { PG_FINDING_MAX = 20 };

const char *pg_fault_name(pg_fault_kind kind); /* "out_of_bounds" */

typedef struct pg_fault {
  pg_fault_kind kind;
  bool located; /* the fields below are known (sim); a GPU often knows only the kind */
  char kernel[PG_KERNEL_NAME_MAX];
  uint32_t block[3], thread[3];
  char file[256]; /* source file and line when the PTX carries them */
  int line;
  int ptx_line;
  char instruction[128]; /* the PTX text */
  uint64_t address;
  uint32_t access_bytes;
  char space[16];      /* "global", "shared", "local" */
  char allocation[64]; /* name of the nearest allocation, see pg_device_ops.name */
  uint64_t allocation_base, allocation_bytes;
  int64_t distance; /* bytes from its nearest end: > 0 past the end, < 0 before the start */
  char text[1024];  /* all of it in words, one line a fact */
  /* A race, weak_read or weak_write: the other access. other_ptx_line is 0 when there is none. */
  uint32_t other_block[3], other_thread[3];
  char other_file[256];
  int other_line, other_ptx_line;
  char other_instruction[128];
  uint64_t times; /* how often sim:check saw this cause */
} pg_fault;

/* What the simulator counted since pg_device_ops.counters was last called with reset. */
#define PG_COUNTERS(X)                                                                         \
  X(launches, "kernel launches")                                                               \
  X(warp_instructions, "warp instructions executed")                                           \
  X(thread_instructions, "thread instructions executed (active lanes)")                        \
  X(branches, "conditional branches executed by a warp")                                       \
  X(divergent_branches, "of these, branches that split a warp")                                \
  X(global_load_requests, "warp-level global load instructions")                               \
  X(global_load_sectors, "32-byte sectors they touched")                                       \
  X(global_load_bytes, "bytes their lanes asked for")                                          \
  X(global_store_requests, "warp-level global store instructions")                             \
  X(global_store_sectors, "32-byte sectors they touched")                                      \
  X(global_store_bytes, "bytes their lanes wrote")                                             \
  X(global_atomic_requests, "warp-level global atomics and reductions")                        \
  X(global_atomic_sectors,                                                                     \
    "32-byte sectors they touched, once for each pass over colliding lanes")                   \
  X(global_atomic_lanes, "lanes that took part in them")                                       \
  X(global_atomic_collisions, "of these, lanes whose address an earlier lane of the warp had") \
  X(shared_requests, "warp-level shared-memory instructions")                                  \
  X(shared_wavefronts, "passes they needed for bank conflicts")                                \
  X(barriers, "barrier arrivals of warps")                                                     \
  X(local_load_requests, "warp-level local-memory loads")                                      \
  X(local_load_sectors, "32-byte sectors they touched")                                        \
  X(local_store_requests, "warp-level local-memory stores")                                    \
  X(local_store_sectors, "32-byte sectors they touched")                                       \
  X(l1_sectors, "sectors of global memory asked of the modelled L1 caches")                    \
  X(l1_hit_sectors, "of these, found there")                                                   \
  X(l2_sectors, "sectors asked of the modelled L2 cache")                                      \
  X(l2_hit_sectors, "of these, found there, and all that were stored")

typedef struct pg_counters {
#define PG_X(name, text) uint64_t name;
  PG_COUNTERS(PG_X)
#undef PG_X
  bool complete; /* false: only what the device counts in its fast mode is filled in */
} pg_counters;

/* Where it was counted: a line of the source, when the PTX carries lines. */
typedef struct pg_line {
  const char *file; /* "" when the PTX does not name it */
  int line;
  pg_counters counters;
} pg_line;

typedef struct pg_hot { /* an address at which lanes of one warp met in atomics */
  uint64_t address;
  uint64_t collisions;
} pg_hot;

enum { PG_HOT_MAX = 8 };

/* The device owns it; it holds until the next launch, unload, or counters with reset. */
typedef struct pg_profile {
  const pg_line *lines;
  size_t line_count;
  pg_hot hot[PG_HOT_MAX]; /* most collisions first, 0 collisions: no more */
} pg_profile;

struct pg_health;

typedef struct pg_device_ops {
  void (*close)(pg_device *);
  pg_code (*info)(pg_device *, pg_device_info *, pg_error *);

  /* Memory. Addresses are aligned to 256 bytes at least. alloc of 0 bytes is PG_RANGE. */
  pg_code (*alloc)(pg_device *, size_t bytes, pg_ptr *out, pg_error *);
  pg_code (*free)(pg_device *, pg_ptr, pg_error *); /* freeing 0 does nothing */
  /* Name part of an allocation for fault reports; read_only: kernels must not write it (sim
   * enforces). */
  pg_code (*name)(pg_device *, pg_ptr start, size_t bytes, const char *name, bool read_only,
                  pg_error *);
  pg_code (*upload)(pg_device *, pg_ptr to, const void *from, size_t bytes, pg_stream *,
                    pg_error *);
  pg_code (*download)(pg_device *, void *to, pg_ptr from, size_t bytes, pg_stream *, pg_error *);
  pg_code (*copy)(pg_device *, pg_ptr to, pg_ptr from, size_t bytes, pg_stream *, pg_error *);
  /* Write `count` patterns of 1, 2 or 4 bytes. */
  pg_code (*fill)(pg_device *, pg_ptr to, uint32_t pattern, int pattern_bytes, size_t count,
                  pg_stream *, pg_error *);

  /* Modules: PTX text (zero-terminated) or a cubin (ELF). `name` is for messages. The driver's (or
   * the parser's) complaint is in the error, with the line. */
  pg_code (*load)(pg_device *, const void *image, size_t bytes, const char *name, pg_module **out,
                  pg_error *);
  void (*unload)(pg_device *, pg_module *);
  pg_code (*kernel)(pg_device *, pg_module *, const char *name, pg_kernel **out, pg_error *);
  pg_code (*kernel_info)(pg_device *, pg_kernel *, pg_kernel_info *, pg_error *);
  /* Name of the module's index-th kernel, NULL past the end. */
  const char *(*kernel_name)(pg_device *, pg_module *, int index);

  /* Where a variable of the module in global memory lies; PG_NOT_FOUND when kernels alone know it.
   */
  pg_code (*global)(pg_device *, pg_module *, const char *name, pg_ptr *at, size_t *bytes,
                    pg_error *);

  /* Asynchronous on CUDA. An empty grid or block, too many threads or too much shared memory is
   * PG_LAUNCH before anything runs. A kernel that faults gives PG_LAUNCH or PG_TIMEOUT at the next
   * sync (sim: at once) and `fault` tells; after a fault a CUDA device only answers `fault` and
   * `close`; sim goes on. */
  pg_code (*launch)(pg_device *, const pg_launch *, pg_stream *, pg_error *);
  pg_code (*sync)(pg_device *, pg_error *); /* the whole device */
  void (*fault)(pg_device *, pg_fault *);   /* kind PG_FAULT_NONE when nothing faulted */
  void (*counters)(pg_device *, pg_counters *, bool reset);
  /* The same by line, since the same reset. NULL, or returns NULL: this device does not tell. */
  const pg_profile *(*profile)(pg_device *);
  /* Wall-clock limit of one kernel in seconds, 0 for none; only sim can keep it (CUDA: ignored). */
  void (*limit)(pg_device *, double seconds);
  /* From now on what launches leave open is shuffled by `seed` (0: not), by at most `workers`
   * threads (0: as opened); with one, a schedule repeats. NULL: the device does as it likes. */
  void (*schedule)(pg_device *, uint64_t seed, int workers);

  pg_code (*stream_new)(pg_device *, pg_stream **, pg_error *);
  pg_code (*stream_sync)(pg_device *, pg_stream *, pg_error *);
  void (*stream_free)(pg_device *, pg_stream *);
  /* The driver's own handle of a stream, for libraries that work on it. NULL: it has none. */
  uint64_t (*stream_handle)(pg_stream *);
  pg_code (*event_new)(pg_device *, pg_event **, pg_error *);
  pg_code (*event_record)(pg_device *, pg_event *, pg_stream *, pg_error *);
  pg_code (*event_elapsed)(pg_device *, pg_event *start, pg_event *stop, double *microseconds,
                           pg_error *); /* waits for stop */
  void (*event_free)(pg_device *, pg_event *);
  /* Whether the device has yet to come to where the event was recorded. NULL: it never has. */
  bool (*event_pending)(pg_device *, pg_event *);

  /* From graph_begin to graph_end what is enqueued on the stream goes into a graph and does not
   * run; nothing may wait in between. graph_end with `out` NULL gives up. NULL, or PG_UNSUPPORTED:
   * the device has no graphs. */
  pg_code (*graph_begin)(pg_device *, pg_stream *, pg_error *);
  pg_code (*graph_end)(pg_device *, pg_stream *, pg_graph **out, pg_error *);
  pg_code (*graph_launch)(pg_device *, pg_graph *, pg_stream *, pg_error *);
  void (*graph_free)(pg_device *, pg_graph *); /* NULL is allowed */

  /* What was loaded into L2 to stay there is like the rest again. NULL where there is no such
   * thing. */
  void (*unpin)(pg_device *);

  /* What sim:check found since this was last called with reset, one a cause, verdicts among them
   * (a launch with one of these fails when it ends) and kinds that are none. Returns their number,
   * at most PG_FINDING_MAX. NULL on devices that find nothing. */
  int (*findings)(pg_device *, pg_fault *out, int most, bool reset);
  /* These bytes are to count as never written: a kernel that reads them before it writes them has a
   * fault (sim:check; scratch memory, poison). NULL where nobody would notice. */
  pg_code (*forget)(pg_device *, pg_ptr start, size_t bytes, pg_error *);

  /* Write the PG_TENSOR_MAP_BYTES of a tensor map of memory at `at`. NULL where kernels have no
   * tensor copies. */
  pg_code (*tensor_map)(pg_device *, pg_ptr at, const pg_tensor *, void *out, pg_error *);

  /* Clock and temperature through NVML. Fields are -1 where unknown. */
  void (*health)(pg_device *, struct pg_health *);
} pg_device_ops;

typedef struct pg_health {
  int sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw;
  long long throttle_reasons; /* NVML's bit mask; -1 unknown */
} pg_health;

struct pg_device {
  const pg_device_ops *ops; /* the implementation's own state follows in its own struct */
};

/* Open "auto" (first GPU, else sim:check), "cuda", "cuda:N", "sim", "sim:check" or "sim:profile". A
 * simulator's name may go on with ",workers=N" (threads; default one a core) and ",seed=N", which
 * shuffles the order of warps and, with one worker (then the default), makes it reproducible.
 * Errors: PG_NOT_FOUND for an unknown name (the hint lists what exists), PG_RANGE for a bad option,
 * PG_ENVIRONMENT for a GPU that is not there. */
pg_code pg_device_open(const char *spec, pg_device **out, pg_error *error);
void pg_device_close(pg_device *device); /* NULL is allowed */
/* What "auto" would open, without opening it. Costs a look for the driver, nothing more. */
const char *pg_device_default(void);
/* Number of CUDA devices; 0 without a driver, and then `why` (if given) says why. */
int pg_cuda_count(char *why, size_t why_bytes);

/* ---- compiling CUDA C++ to PTX (NVRTC), independent of any device ---- */

/* What a compilation still has to reach when the candidate's text is given to the compiler. */
typedef struct pg_compile_reach {
  const char *const *folders; /* of headers */
  int folder_count;
  const char *cache; /* where the result is added; NULL when it is not kept */
} pg_compile_reach;

typedef struct pg_compile_request {
  const char *source;         /* the text */
  const char *name;           /* its file name: messages and .file directives carry it */
  const char *arch;           /* "compute_80"; NULL: compute_90, what the simulator presents */
  const char *const *options; /* further NVRTC options, e.g. "-DBLOCK=256", "-Ikernels" */
  int option_count;
  const char *const *expressions; /* template instances to keep, e.g. "saxpy<float, 4>" */
  int expression_count;
  bool no_cache; /* neither read nor write the cache on disk */
  /* Called once the library is loaded and before it sees the source; NULL: nothing is. An error
   * ends the compilation. Not called when the cache has the result. */
  pg_code (*confine)(void *context, const pg_compile_reach *reach, pg_error *error);
  void *context;
} pg_compile_request;

typedef struct pg_compile_result {
  char *ptx; /* zero-terminated; owned, freed by pg_compile_free */
  size_t bytes;
  char *log;      /* warnings, or why it failed; never NULL after pg_compile */
  char **lowered; /* lowered (mangled) name of each expression; expression_count of them */
  int lowered_count;
  double seconds;
  bool cached;
  char compiler[48]; /* "NVRTC 13.0" */
} pg_compile_result;

/* Errors: PG_COMPILE (message: the first error line "file:line: text"; result->log: everything),
 * PG_ENVIRONMENT (no NVRTC; the hint says where it was looked for and how to get one). */
pg_code pg_compile(const pg_compile_request *request, pg_compile_result *result, pg_error *error);
void pg_compile_free(pg_compile_result *result);
/* "NVRTC 13.0" and the path of the library, or PG_ENVIRONMENT. Loads it. */
pg_code pg_compiler_info(char *version, size_t version_bytes, char *path, size_t path_bytes,
                         pg_error *error);

#endif
