/* Loading NVRTC and compiling one program with it. */
#include "nvrtc.h"

#include <ctype.h>
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NVRTC opens libnvrtc-builtins by bare name, which the loader finds only on its own path. Opened
 * here first, with its full path, it is already there by that name. */
static void load_builtins(const char *path, int major, int minor) {
  char folder[PATH_MAX], file[PATH_MAX];
  if (!realpath(path, folder)) return;
  if (snprintf(file, sizeof file, "%s/libnvrtc-builtins.so.%d.%d", dirname(folder), major, minor) <
      (int)sizeof file)
    dlopen(file, RTLD_NOW);
}

pg_code pg_nvrtc_load(const char *path, pg_nvrtc *out, pg_error *error) {
  memset(out, 0, sizeof *out);
  void *library = dlopen(path, RTLD_NOW);
  if (!library) {
    const char *why = dlerror();
    pg_fail(error, PG_ENVIRONMENT, "NVRTC does not load: %s", why ? why : path);
    return pg_hint(error, "PERIGEE_NVRTC names another one");
  }
#define PG_X(presence, name, arguments)                                                       \
  {                                                                                           \
    void *address = dlsym(library, #name);                                                    \
    if (!address && presence == '!')                                                          \
      return pg_fail(error, PG_ENVIRONMENT, "%s is no NVRTC that perigee knows: it lacks %s", \
                     path, #name);                                                            \
    memcpy(&out->name, &address, sizeof address);                                             \
  }
  PG_NVRTC_CALLS(PG_X)
#undef PG_X
  if (out->nvrtcVersion(&out->major, &out->minor) != PG_NVRTC_SUCCESS || out->major < 11) {
    pg_fail(error, PG_ENVIRONMENT, "%s is NVRTC %d.%d; 11.0 is the oldest that serves", path,
            out->major, out->minor);
    return pg_hint(error, "PERIGEE_NVRTC names another one");
  }
  load_builtins(path, out->major, out->minor);
  return PG_OK;
}

int pg_nvrtc_newest(const pg_nvrtc *nvrtc) {
  int count = 0, newest = 0, archs[256];
  if (!nvrtc->nvrtcGetNumSupportedArchs || !nvrtc->nvrtcGetSupportedArchs) return 0;
  if (nvrtc->nvrtcGetNumSupportedArchs(&count) || count > 256 ||
      nvrtc->nvrtcGetSupportedArchs(archs))
    return 0;
  for (int i = 0; i < count; i++)
    if (archs[i] > newest) newest = archs[i];
  return newest;
}

/* ---- what went wrong ---- */

/* The first line of the form "file(12): error: text" (or catastrophic, internal); NULL when there
 * is none. */
static const char *find_error(const char *log, int *file_length, int *number, const char **text) {
  static const char *const kinds[] = {"): error", "): catastrophic error", "): internal error"};
  for (const char *line = log; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    size_t length = strcspn(line, "\n");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
      const char *at = memmem(line, length, kinds[i], strlen(kinds[i]));
      const char *open = at;
      while (open && open > line && isdigit((unsigned char)open[-1])) open--;
      if (!open || open == at || open == line || open[-1] != '(') continue;
      *number = atoi(open);
      *file_length = (int)(open - 1 - line);
      *text = at + strlen(kinds[i]);
      *text += strspn(*text, ": ");
      return line;
    }
  }
  return NULL;
}

/* Of C's library, or of C++'s, which have no dot. */
static bool of_the_host(const char *header) {
  static const char c[] = " assert errno float inttypes limits math stddef stdint stdio stdlib "
                          "string time unistd ";
  size_t length = strcspn(header, "\"\n");
  if (!memchr(header, '.', length)) return !memchr(header, '/', length);
  char name[16];
  length = strcspn(header, ".");
  if (strncmp(header + length, ".h\"", 3) || length + 3 > sizeof name) return false;
  snprintf(name, sizeof name, " %.*s ", (int)length, header);
  return strstr(c, name);
}

static const char *missing_header(const char *log) {
  static const char opens[] = "open source file \"";
  const char *at = strstr(log, opens);
  if (!at) return NULL;
  if (of_the_host(at + strlen(opens)))
    return "NVRTC has no headers of the host: printf, assert and mathematical functions are there "
           "without; <cuda/std/cstdint>, <cuda/std/limits> and <math_constants.h> have types and "
           "constants";
  return "headers are searched beside the file that includes them, in -I folders, and in the "
         "include folder of the toolkit that NVRTC belongs to; CUDA's own come with a toolkit or "
         "with `pip install nvidia-cuda-runtime nvidia-cuda-cccl` beside NVRTC's wheel";
}

/* As NVRTC counts: some have no line. "3 errors detected in the compilation of ..." */
static int count_errors(const char *log) {
  const char *said = strstr(log, " errors detected in the compilation"), *at = said;
  while (at && at > log && isdigit((unsigned char)at[-1])) at--;
  return at ? atoi(at) : 1;
}

static pg_code explain(const char *log, const char *name, pg_error *error) {
  int file_length = 0, number = 0;
  const char *text = log;
  const char *file = find_error(log, &file_length, &number, &text);
  if (!file) {
    const char *prefix = "nvrtc: error: ";
    if (!strncmp(text, prefix, strlen(prefix))) text += strlen(prefix);
    pg_fail(error, PG_COMPILE, "%s: %.*s", name, (int)strcspn(text, "\n"), text);
    return pg_where(error, "%s", name);
  }
  int line_length = (int)strcspn(text, "\n"), errors = count_errors(log);
  pg_fail(error, PG_COMPILE, "%.*s:%d: %.*s", file_length, file, number, line_length, text);
  pg_where(error, "%.*s:%d", file_length, file, number);
  const char *header = missing_header(log);
  if (header) return pg_hint(error, "%s", header);
  return errors > 1 ? pg_hint(error, "the first of %d errors", errors) : PG_COMPILE;
}

/* ---- compiling ---- */

static char *take_text(const pg_nvrtc *nvrtc, nvrtc_program program, bool ptx) {
  size_t bytes = 0;
  nvrtc_result result = ptx ? nvrtc->nvrtcGetPTXSize(program, &bytes)
                            : nvrtc->nvrtcGetProgramLogSize(program, &bytes);
  char *text = result == PG_NVRTC_SUCCESS ? calloc(1, bytes + 1) : NULL;
  if (!text) return NULL;
  result = ptx ? nvrtc->nvrtcGetPTX(program, text) : nvrtc->nvrtcGetProgramLog(program, text);
  if (result == PG_NVRTC_SUCCESS) return text;
  free(text);
  return NULL;
}

static pg_code take_lowered(const pg_nvrtc *nvrtc, nvrtc_program program,
                            const pg_compile_request *request, pg_compile_result *result,
                            pg_error *error) {
  int count = request->expression_count;
  if (count == 0) return PG_OK;
  result->lowered = calloc((size_t)count, sizeof *result->lowered);
  if (!result->lowered) return pg_fail(error, PG_MEMORY, "out of memory for kernel names");
  for (int i = 0; i < count; i++) {
    const char *lowered = NULL;
    if (nvrtc->nvrtcGetLoweredName(program, request->expressions[i], &lowered) || !lowered) {
      pg_fail(error, PG_COMPILE, "%s: %s names no kernel", request->name, request->expressions[i]);
      return pg_where(error, "%s", request->name);
    }
    result->lowered[i] = strdup(lowered);
    if (!result->lowered[i]) return pg_fail(error, PG_MEMORY, "out of memory for kernel names");
    result->lowered_count = i + 1;
  }
  return PG_OK;
}

static pg_code build(const pg_nvrtc *nvrtc, nvrtc_program program,
                     const pg_compile_request *request, const char *const *options,
                     int option_count, pg_compile_result *result, pg_error *error) {
  for (int i = 0; i < request->expression_count; i++)
    if (nvrtc->nvrtcAddNameExpression(program, request->expressions[i]))
      return pg_fail(error, PG_COMPILE, "%s: %s is no name expression", request->name,
                     request->expressions[i]);
  nvrtc_result status = nvrtc->nvrtcCompileProgram(program, option_count, options);
  char *log = take_text(nvrtc, program, false);
  if (log) {
    free(result->log);
    result->log = log;
    for (size_t n = strlen(log); n > 0 && isspace((unsigned char)log[n - 1]); n--)
      log[n - 1] = '\0';
  }
  if (status == PG_NVRTC_ERROR_OUT_OF_MEMORY)
    return pg_fail(error, PG_MEMORY, "out of memory compiling %s", request->name);
  if (status) {
    if (!result->log[0])
      return pg_fail(error, PG_COMPILE, "%s: NVRTC failed with result %u", request->name, status);
    return explain(result->log, request->name, error);
  }
  result->ptx = take_text(nvrtc, program, true);
  if (!result->ptx)
    return pg_fail(error, PG_COMPILE, "%s: NVRTC gave no PTX; -arch must be a compute_XX",
                   request->name);
  result->bytes = strlen(result->ptx);
  return take_lowered(nvrtc, program, request, result, error);
}

pg_code pg_nvrtc_compile(const pg_nvrtc *nvrtc, const pg_compile_request *request,
                         const char *const *options, int option_count, pg_compile_result *result,
                         pg_error *error) {
  nvrtc_program program = NULL;
  nvrtc_result status =
      nvrtc->nvrtcCreateProgram(&program, request->source, request->name, 0, NULL, NULL);
  if (status) return pg_fail(error, PG_MEMORY, "NVRTC makes no program (result %u)", status);
  pg_code code = build(nvrtc, program, request, options, option_count, result, error);
  nvrtc->nvrtcDestroyProgram(&program);
  return code;
}
