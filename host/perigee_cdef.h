/* Perigee's C API: declarations only. C includes perigee.h, LuaJIT gives this file to ffi.cdef.
 *
 * libperigee.so: everything up to "hosts". libperigee-host.so: all of it.
 *
 * Functions that return int return 0 for success; otherwise a number above 0, and what happened is
 * in the pg_error that was passed (NULL: nobody wants to know). Objects are opaque. Whoever makes
 * one ends it; what belongs to a device (modules, kernels, memory) ends with it at the latest.
 * Nothing is global: objects of different devices or hosts may be used by different threads at the
 * same time, one object by one thread at a time. Sizes are in bytes, times in microseconds, shapes
 * row-major. A list of texts has no NULL among them. */

/* ---- errors ---- */

typedef struct pg_error pg_error;

pg_error *pg_error_new(void); /* NULL without memory */
void pg_error_free(pg_error *error);
/* Of the last failure: the name of its code ("not_found", "compile_error", "launch_error",
 * "environment", ...), what was expected and got, how to mend it, and where ("file:line"); the last
 * two may be "". They hold until the error is passed to another function. */
const char *pg_error_code(const pg_error *error);
const char *pg_error_message(const pg_error *error);
const char *pg_error_hint(const pg_error *error);
const char *pg_error_where(const pg_error *error);

const char *pg_version(void); /* "0.1.0" */

/* ---- devices ---- */

typedef struct pg_device pg_device;
typedef struct pg_module pg_module; /* compiled kernels; belongs to its device */
typedef struct pg_kernel pg_kernel; /* lives as long as its module */

typedef struct pg_machine {
  char spec[64];   /* "cuda:0", "sim:check" */
  char name[128];  /* "NVIDIA H200" */
  char driver[64]; /* "" on a simulator */
  int cc_major, cc_minor, multiprocessors;
  int gpu_clock; /* 0: times are the simulator's own and say nothing about a GPU */
  size_t memory_bytes, l2_bytes;
} pg_machine;

/* spec: "auto" (or NULL: the first GPU, else sim:check), "cuda:N", "sim" (bounds checked),
 * "sim:check" (also uninitialised reads and races), "sim:profile". Errors: not_found, range,
 * environment (no such GPU). */
int pg_open(const char *spec, pg_device **out, pg_error *error);
/* End a device, and with it its memory, its modules and their kernels, which must not be used after
 * that. NULL is allowed, here and in the other functions that end. */
void pg_close(pg_device *device);
int pg_describe(pg_device *device, pg_machine *out, pg_error *error);

/* Device memory: an address, aligned to 256 bytes at least. Freeing 0 does nothing. Copies wait. */
int pg_alloc(pg_device *device, size_t bytes, uint64_t *out, pg_error *error);
int pg_free(pg_device *device, uint64_t at, pg_error *error);
int pg_upload(pg_device *device, uint64_t to, const void *from, size_t bytes, pg_error *error);
int pg_download(pg_device *device, void *to, uint64_t from, size_t bytes, pg_error *error);
/* Every byte becomes `byte`'s low 8 bits. */
int pg_clear(pg_device *device, uint64_t to, int byte, size_t bytes, pg_error *error);

/* Compile CUDA C++ (by NVRTC, found at run time) and load it. name: how messages call the source.
 * options: `option_count` of NVRTC's, "-DBLOCK=256"; NULL for none. Errors: compile_error (the
 * first line of the compiler's complaint), environment (no NVRTC; the hint says how to get one). */
int pg_build(pg_device *device, const char *source, const char *name, const char *const *options,
             int option_count, pg_module **out, pg_error *error);
/* Compile to PTX text, zero-terminated, without a device; pg_text_free ends it. arch: "compute_80",
 * NULL for compute_90. */
int pg_compile_text(const char *source, const char *name, const char *arch,
                    const char *const *options, int option_count, char **ptx, pg_error *error);
void pg_text_free(char *text);
/* Load PTX text. Errors: syntax (with the line), unsupported. */
int pg_load(pg_device *device, const char *ptx, const char *name, pg_module **out, pg_error *error);
void pg_unload(pg_device *device, pg_module *module);
/* Kernels by the name that PTX gives them (extern "C": as written). Errors: not_found. */
int pg_find_kernel(pg_device *device, pg_module *module, const char *name, pg_kernel **out,
                   pg_error *error);
/* How many parameters, and of the index-th, from 0, its size and kind: 'p' pointer, 'i' integer,
 * 'f' float, 'b' struct, '?' unknown. Errors: range. */
int pg_parameter_count(pg_device *device, pg_kernel *kernel, int *out, pg_error *error);
int pg_parameter(pg_device *device, pg_kernel *kernel, int index, char *kind, uint32_t *bytes,
                 pg_error *error);

/* Start a kernel. grid and block: x, y, z. shared: dynamic shared memory. arguments: a pointer to
 * each, of the type that the kernel declares; their number must be the kernel's. Errors:
 * launch_error (now, or at pg_sync: what the simulator found, with thread, line and array). */
int pg_start(pg_device *device, pg_kernel *kernel, const uint32_t *grid, const uint32_t *block,
             uint32_t shared, const void *const *arguments, int argument_count, pg_error *error);
int pg_sync(pg_device *device, pg_error *error); /* wait for all kernels */

/* ---- measuring ---- */

typedef struct pg_times {
  double median;    /* microseconds */
  double low, high; /* the true median lies between them with 95% certainty */
  double min, max;
  size_t samples;
  int gpu_clock; /* 0: the simulator's own time, never a GPU's */
} pg_times;

/* Time what `body` starts (it must not wait), by the device's events: warmed up, then samples until
 * the interval is narrow or a second has passed. cold: L2 is flushed before each sample. body
 * returns 0 to go on; another value ends the measurement with error `invalid`. */
int pg_measure(pg_device *device, int (*body)(void *context), void *context, int cold,
               pg_times *out, pg_error *error);

/* ---- arrays on the host ---- */

typedef struct pg_array pg_array;

/* Zeroed. dtype: f64 f32 f16 bf16 f8e4m3 f8e5m2 i8 i16 i32 i64 u8 u16 u32 u64 bool. 1 to 8
 * dimensions. Errors: not_found, range, out_of_memory. */
int pg_array_make(const char *dtype, int ndim, const int64_t *shape, pg_array **out,
                  pg_error *error);
void pg_array_drop(pg_array *array);
void *pg_array_data(pg_array *array); /* 64-byte aligned; NULL when it has no element */
size_t pg_array_count(const pg_array *array);
size_t pg_array_bytes(const pg_array *array);
const char *pg_array_dtype(const pg_array *array);
/* Element `index` as binary64; NaN past the end. Setting rounds once. It returns not 0, and changes
 * nothing, past the end and where an integer dtype does not hold the value. */
double pg_array_get(const pg_array *array, size_t index);
int pg_array_set(pg_array *array, size_t index, double value);

/* Fill with Philox4x32-10: element i depends on seed, stream and i alone. Uniform in [low, high)
 * and normal: floats. Integers from first to last, both included: any dtype that holds them. */
int pg_fill_uniform(pg_array *array, uint64_t seed, uint64_t stream, double low, double high,
                    pg_error *error);
int pg_fill_normal(pg_array *array, uint64_t seed, uint64_t stream, double mean, double stddev,
                   pg_error *error);
int pg_fill_integer(pg_array *array, uint64_t seed, uint64_t stream, int64_t first, int64_t last,
                    pg_error *error);

typedef struct pg_difference {
  size_t count, bad;       /* elements, and those outside the tolerance */
  size_t first_bad, worst; /* their indices, where there are any */
  double max_abs, max_rel, max_ulp;
} pg_difference;

/* Every element: |got - want| <= atol + rtol |want|; NaN never passes, equal infinities do.
 * Integers are compared exactly. Differences are no error: look at `bad`. Errors: invalid (counts
 * differ), range. */
int pg_differ(const pg_array *want, const pg_array *got, double rtol, double atol,
              pg_difference *out, pg_error *error);

/* ---- the judge ---- */

/* What `perigee check TASK CANDIDATE --json` prints: one JSON object, the record with its verdict;
 * pg_text_free ends it. options: further words of that command, "--device", "sim:check". It runs as
 * a process of its own, found at $PERIGEE_BIN, beside the library or in ../bin. A failed verdict is
 * no error. Errors: environment (no command), crashed, invalid (what the command says of its
 * arguments). */
int pg_judge(const char *task, const char *candidate, const char *const *options, int option_count,
             char **record, pg_error *error);

/* ---- hosts: Lua 5.4 with Perigee's library, inside this program (libperigee-host.so) ---- */

typedef struct pg_host pg_host;
typedef struct pg_call pg_call; /* a call from Lua to a primitive, while it runs */

int pg_host_open(pg_host **out, pg_error *error);
void pg_host_close(pg_host *host);
/* Run a file or a text; arguments are in `arg` and `...`. result: NULL, or the first value returned
 * as text (JSON for a table), which pg_text_free ends; NULL for nil. os.exit in a script ends this
 * program. Errors: not_found, io (the file), syntax, out_of_memory, invalid (a result with a zero
 * byte); what a script raises: an error table as it is, anything else as `invalid` and its text. */
int pg_host_file(pg_host *host, const char *path, const char *const *arguments, int argument_count,
                 char **result, pg_error *error);
int pg_host_text(pg_host *host, const char *text, const char *name, char **result, pg_error *error);

/* A function that Lua calls as `name`, a global. It returns 0, or another value after pg_call_fail
 * (without it, the Lua error says that the primitive failed). */
int pg_host_primitive(pg_host *host, const char *name, int (*function)(pg_call *, void *context),
                      void *context, pg_error *error);
int pg_call_count(pg_call *call);
/* Argument `index`, from 0: 0 and the value, or not 0 when it has another type. What they point to
 * holds until the primitive returns; an array is the script's own. */
int pg_call_number(pg_call *call, int index, double *out);
int pg_call_integer(pg_call *call, int index, int64_t *out);
int pg_call_text(pg_call *call, int index, const char **out, size_t *bytes);
int pg_call_array(pg_call *call, int index, pg_array **out);
/* What the call gives back; each adds one, at most 16 in all. */
int pg_call_give_number(pg_call *call, double value);
int pg_call_give_integer(pg_call *call, int64_t value);
int pg_call_give_text(pg_call *call, const char *text, size_t bytes);
int pg_call_fail(pg_call *call, const char *message);
