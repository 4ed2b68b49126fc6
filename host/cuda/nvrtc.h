/* NVRTC: where it is, loading it, compiling one program with it. pg_compile (compile.c) adds the
 * cache. Results are malloc'ed strings of the caller's. */
#ifndef PG_CUDA_NVRTC_H
#define PG_CUDA_NVRTC_H

#include <limits.h>

#include "../device.h"

/* Functions of NVRTC in use: presence ('?' is newer than 11.0), name, arguments. */
typedef unsigned nvrtc_result; /* nvrtcResult: an enumeration, passed as an unsigned */
typedef struct _nvrtcProgram *nvrtc_program;
#define PG_NVRTC_CALLS(X)                                                                     \
  X('!', nvrtcVersion, (int *major, int *minor))                                              \
  X('!', nvrtcCreateProgram,                                                                  \
    (nvrtc_program * program, const char *source, const char *name, int header_count,         \
     const char *const *headers, const char *const *include_names))                           \
  X('!', nvrtcDestroyProgram, (nvrtc_program * program))                                      \
  X('!', nvrtcAddNameExpression, (nvrtc_program program, const char *expression))             \
  X('!', nvrtcCompileProgram, (nvrtc_program program, int count, const char *const *options)) \
  X('!', nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))                     \
  X('!', nvrtcGetProgramLog, (nvrtc_program program, char *log))                              \
  X('!', nvrtcGetPTXSize, (nvrtc_program program, size_t * bytes))                            \
  X('!', nvrtcGetPTX, (nvrtc_program program, char *ptx))                                     \
  X('!', nvrtcGetLoweredName,                                                                 \
    (nvrtc_program program, const char *expression, const char **lowered))                    \
  X('?', nvrtcGetNumSupportedArchs, (int *count))                                             \
  X('?', nvrtcGetSupportedArchs, (int *archs))

/* nvrtcResult values that are told apart. */
#define PG_NVRTC_RESULTS(X)  \
  X(SUCCESS, 0)              \
  X(ERROR_OUT_OF_MEMORY, 1)  \
  X(ERROR_INVALID_OPTION, 5) \
  X(ERROR_COMPILATION, 6)    \
  X(ERROR_NAME_EXPRESSION_NOT_VALID, 10)

enum {
#define PG_X(name, number) PG_NVRTC_##name = number,
  PG_NVRTC_RESULTS(PG_X)
#undef PG_X
};

typedef struct pg_nvrtc {
#define PG_X(presence, name, arguments) nvrtc_result(*name) arguments;
  PG_NVRTC_CALLS(PG_X)
#undef PG_X
  int major, minor;
} pg_nvrtc;

/* The library's file. PG_ENVIRONMENT when there is none; the hint says where it was looked for. */
pg_code pg_nvrtc_find(char path[PATH_MAX], pg_error *error);
/* Folders with the CUDA headers that belong to that library (cuda_fp16.h, cooperative_groups.h,
 * libcu++), as "-I" options; returns how many of the two were written. */
int pg_nvrtc_headers(const char *library, char options[2][PATH_MAX + 2]);
pg_code pg_nvrtc_load(const char *path, pg_nvrtc *out, pg_error *error);
/* Compile with all of `options` as they are (count of them) and the request's expressions; fills
 * ptx, log, lowered of the result. Errors as pg_compile. */
pg_code pg_nvrtc_compile(const pg_nvrtc *nvrtc, const pg_compile_request *request,
                         const char *const *options, int option_count, pg_compile_result *result,
                         pg_error *error);
/* The newest architecture that it knows, 90 for compute_90; 0 when it does not say. */
int pg_nvrtc_newest(const pg_nvrtc *nvrtc);

#endif
