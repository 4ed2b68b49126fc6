/* pg_compile: CUDA C++ to PTX through the cache. What makes an entry's key: the compiler's file,
 * the options, the source, and every header that it may reach. NVRTC itself is loaded only on a
 * miss. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../now.h"
#include "cache.h"
#include "includes.h"
#include "nvrtc.h"

enum {
  DEFAULT_ARCH = 90
}; /* what the simulator presents, and the oldest that perigee's kernels need */

/* ---- options ---- */

typedef struct options {
  const char **all; /* for NVRTC */
  int count;
  const char **folders; /* of them, what -I names, in order */
  int folder_count;
  int system;         /* first of the toolkit's among the folders */
  const char **first; /* headers of -include */
  int first_count;
  bool uncertain; /* some option reads files that we do not know of */
  char arch[64];
  char toolkit[2][PATH_MAX + 2];
} options;

static void free_options(options *o) {
  free(o->all);
  free(o->folders);
  free(o->first);
}

/* The value of an option spelled "--long=value", "-Xvalue" or "-X=value"; NULL when it is another
 * option. */
static const char *value_of(const char *option, const char *name) {
  size_t n = strlen(name);
  if (strncmp(option, name, n) != 0 || !option[n]) return NULL;
  return option[n] == '=' ? option + n + 1 : n == 2 ? option + n : NULL;
}

static bool given(const pg_compile_request *request, const char *name) {
  for (int i = 0; i < request->option_count; i++)
    if (!strncmp(request->options[i], name, strlen(name))) return true;
  return false;
}

static void add_option(options *o, const char *option) {
  const char *folder = value_of(option, "-I"), *first = value_of(option, "-include");
  if (!folder) folder = value_of(option, "--include-path");
  if (!first) first = value_of(option, "--pre-include");
  if (folder) o->folders[o->folder_count++] = folder;
  if (first) o->first[o->first_count++] = first;
  if (strstr(option, "pch") || strstr(option, "options-file")) o->uncertain = true;
  o->all[o->count++] = option;
}

static pg_code collect_options(const pg_compile_request *request, const char *library, options *o,
                               pg_error *error) {
  size_t room = (size_t)request->option_count + 8;
  memset(o, 0, sizeof *o);
  snprintf(o->arch, sizeof o->arch, "-arch=%s", request->arch ? request->arch : "compute_90");
  o->all = calloc(room, sizeof *o->all);
  o->folders = calloc(room, sizeof *o->folders);
  o->first = calloc(room, sizeof *o->first);
  if (!o->all || !o->folders || !o->first)
    return pg_fail(error, PG_MEMORY, "out of memory for compiler options");
  for (int i = 0; i < request->option_count; i++) {
    const char *option = request->options[i];
    if (!strcmp(option, "-I") || !strcmp(option, "-D") || !strcmp(option, "-include"))
      return pg_fail(error, PG_INVALID, "option %s: write its value in the same string: %s%s",
                     option, option, option[2] ? "=value" : "value");
    add_option(o, option);
  }
  if (!given(request, "-arch") && !given(request, "--gpu-architecture")) add_option(o, o->arch);
  if (!given(request, "-std") && !given(request, "--std")) add_option(o, "--std=c++17");
  if (!given(request, "-lineinfo") && !given(request, "--generate-line-info") &&
      !given(request, "-G") && !given(request, "--device-debug"))
    add_option(o, "-lineinfo"); /* so that faults and profiles name source lines */
  o->system = o->folder_count;
  int found = pg_nvrtc_headers(library, o->toolkit);
  for (int i = 0; i < found; i++) add_option(o, o->toolkit[i]);
  return PG_OK;
}

/* An architecture that NVRTC does not know yet is replaced by its newest one, which newer GPUs run
 * as well; a note in the log says so. */
static void settle_arch(const pg_nvrtc *nvrtc, const pg_compile_request *request, options *o,
                        char *note, size_t note_bytes) {
  int newest = pg_nvrtc_newest(nvrtc), wanted = DEFAULT_ARCH, end = 0;
  note[0] = '\0';
  if (request->arch && (sscanf(request->arch, "compute_%d%n", &wanted, &end) != 1 ||
                        request->arch[end])) /* compute_90a and the like run nowhere else */
    return;
  if (newest == 0 || wanted <= newest) return;
  snprintf(o->arch, sizeof o->arch, "-arch=compute_%d", newest);
  snprintf(note, note_bytes,
           "note: NVRTC %d.%d does not know compute_%d; compiled for compute_%d\n", nvrtc->major,
           nvrtc->minor, wanted, newest);
}

/* ---- the key ---- */

static void add_text(pg_manifest *manifest, const char *what, const char *text) {
  pg_manifest_add(manifest, "%s %zu %s\n", what, strlen(text), text);
}

/* False when the result cannot be cached. */
static bool make_key(const pg_compile_request *request, const char *library, const options *o,
                     char key[PG_SHA_HEX]) {
  struct stat status;
  pg_manifest manifest = {0};
  if (request->no_cache || o->uncertain || stat(library, &status) != 0) return false;
  add_text(&manifest, "perigee ptx 1, library", library);
  pg_manifest_add(&manifest, "%lld bytes, of %lld.%09ld\n", (long long)status.st_size,
                  (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  for (int i = 0; i < o->count; i++) add_text(&manifest, "option", o->all[i]);
  for (int i = 0; i < request->expression_count; i++)
    add_text(&manifest, "expression", request->expressions[i]);
  add_text(&manifest, "name", request->name);
  add_text(&manifest, "source", request->source);
  const pg_include_path path = {o->folders, o->folder_count, o->system};
  bool certain =
      pg_includes_scan(request->source, request->name, o->first, o->first_count, &path, &manifest);
  if (certain) pg_sha256(manifest.text, manifest.bytes, key);
  pg_manifest_free(&manifest);
  return certain;
}

/* ---- entries: compiler, log, PTX, lowered names, each as "length text newline" ---- */

static char *take_field(const char **at, const char *end) {
  char *rest;
  if (*at >= end || **at < '0' || **at > '9') return NULL;
  unsigned long long length = strtoull(*at, &rest, 10);
  if (*rest != ' ' || length >= (unsigned long long)(end - rest - 1) || rest[1 + length] != '\n')
    return NULL;
  *at = rest + 2 + length;
  return strndup(rest + 1, length);
}

static bool decode(const char *data, size_t bytes, int expressions, pg_compile_result *result) {
  const char *at = data, *end = data + bytes;
  char *compiler = take_field(&at, end), *log = take_field(&at, end);
  result->ptx = take_field(&at, end);
  bool whole = compiler && log && result->ptx;
  if (whole) {
    snprintf(result->compiler, sizeof result->compiler, "%s", compiler);
    free(result->log);
    result->log = log;
    log = NULL;
    result->bytes = strlen(result->ptx);
    if (expressions) result->lowered = calloc((size_t)expressions, sizeof *result->lowered);
  }
  for (int i = 0; whole && i < expressions; i++) {
    char *name = result->lowered ? take_field(&at, end) : NULL;
    whole = name != NULL;
    if (name) result->lowered[result->lowered_count++] = name;
  }
  free(compiler);
  free(log);
  return whole;
}

static void drop_outputs(pg_compile_result *result) {
  for (int i = 0; i < result->lowered_count; i++) free(result->lowered[i]);
  free(result->lowered);
  free(result->ptx);
  result->lowered = NULL;
  result->ptx = NULL;
  result->lowered_count = 0;
  result->bytes = 0;
}

static bool from_cache(const char *key, int expressions, pg_compile_result *result) {
  size_t bytes = 0;
  char *data = pg_cache_read(key, &bytes);
  if (!data) return false;
  bool whole = decode(data, bytes, expressions, result);
  if (!whole) drop_outputs(result);
  free(data);
  return whole;
}

static void to_cache(const char *key, const pg_compile_result *result) {
  pg_manifest entry = {0};
  const char *fields[] = {result->compiler, result->log, result->ptx};
  for (size_t i = 0; i < 3; i++) pg_manifest_add(&entry, "%zu %s\n", strlen(fields[i]), fields[i]);
  for (int i = 0; i < result->lowered_count; i++)
    pg_manifest_add(&entry, "%zu %s\n", strlen(result->lowered[i]), result->lowered[i]);
  if (!entry.failed) pg_cache_write(key, entry.text, entry.bytes);
  pg_manifest_free(&entry);
}

/* ---- compiling ---- */

/* NVRTC writes absolute paths into .file directives. Taking the working folder out again makes the
 * PTX of a source the same wherever it is compiled. */
static void relative_files(char *ptx) {
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder - 1)) return;
  size_t length = strlen(folder);
  if (folder[length - 1] != '/') folder[length++] = '/';
  char *from = ptx, *to = ptx;
  while (*from) {
    size_t line = strcspn(from, "\n") + 1;
    if (!from[line - 1]) line--;
    const char *quote = memchr(from, '"', line);
    size_t before = quote ? (size_t)(quote - from) + 1 : 0;
    if (quote && !strncmp(from + strspn(from, " \t"), ".file", 5) && line - before > length &&
        !memcmp(quote + 1, folder, length)) {
      memmove(to, from, before);
      memmove(to + before, from + before + length, line - before - length);
      to += line - length;
    } else {
      memmove(to, from, line);
      to += line;
    }
    from += line;
  }
  *to = '\0';
}

static bool prepend(char **log, const char *note) {
  char *joined = NULL;
  if (asprintf(&joined, "%s%s", note, *log) < 0) return false;
  free(*log);
  *log = joined;
  return true;
}

static pg_code confine(const pg_compile_request *request, const options *o, bool cacheable,
                       pg_error *error) {
  char cache[PATH_MAX];
  bool kept = request->confine && cacheable && pg_cache_folder(cache);
  const pg_compile_reach reach = {o->folders, o->folder_count, kept ? cache : NULL};
  return request->confine ? request->confine(request->context, &reach, error) : PG_OK;
}

static pg_code compile_now(const pg_compile_request *request, const char *library, options *o,
                           bool cacheable, pg_compile_result *result, pg_error *error) {
  pg_nvrtc nvrtc;
  char note[128];
  pg_code code = pg_nvrtc_load(library, &nvrtc, error);
  if (!code) code = confine(request, o, cacheable, error);
  if (code) return code;
  snprintf(result->compiler, sizeof result->compiler, "NVRTC %d.%d", nvrtc.major, nvrtc.minor);
  settle_arch(&nvrtc, request, o, note, sizeof note);
  code = pg_nvrtc_compile(&nvrtc, request, o->all, o->count, result, error);
  if (note[0] && !prepend(&result->log, note) && !code)
    code = pg_fail(error, PG_MEMORY, "out of memory for a compile log");
  if (code) {
    drop_outputs(result);
    return code;
  }
  relative_files(result->ptx);
  result->bytes = strlen(result->ptx);
  return PG_OK;
}

static pg_code compile_or_recall(const pg_compile_request *request, pg_compile_result *result,
                                 pg_error *error) {
  char library[PATH_MAX], key[PG_SHA_HEX];
  options o = {0};
  pg_code code = pg_nvrtc_find(library, error);
  if (code) return code;
  code = collect_options(request, library, &o, error);
  if (!code) {
    bool cacheable = make_key(request, library, &o, key);
    result->cached = cacheable && from_cache(key, request->expression_count, result);
    if (!result->cached) code = compile_now(request, library, &o, cacheable, result, error);
    if (!code && cacheable && !result->cached) to_cache(key, result);
  }
  free_options(&o);
  return code;
}

pg_code pg_compile(const pg_compile_request *request, pg_compile_result *result, pg_error *error) {
  double start = pg_now();
  memset(result, 0, sizeof *result);
  result->log = strdup("");
  if (!result->log) return pg_fail(error, PG_MEMORY, "out of memory for a compile log");
  if (!request->source) return pg_fail(error, PG_INVALID, "there is no source to compile");
  pg_compile_request named = *request;
  if (!named.name || !named.name[0]) named.name = "kernel.cu";
  pg_code code = compile_or_recall(&named, result, error);
  result->seconds = pg_now() - start;
  return code;
}

void pg_compile_free(pg_compile_result *result) {
  drop_outputs(result);
  free(result->log);
  memset(result, 0, sizeof *result);
}

pg_code pg_compiler_info(char *version, size_t version_bytes, char *path, size_t path_bytes,
                         pg_error *error) {
  char library[PATH_MAX];
  pg_nvrtc nvrtc;
  pg_code code = pg_nvrtc_find(library, error);
  if (!code) code = pg_nvrtc_load(library, &nvrtc, error);
  if (code) return code;
  if (version) snprintf(version, version_bytes, "NVRTC %d.%d", nvrtc.major, nvrtc.minor);
  if (path) snprintf(path, path_bytes, "%s", library);
  return PG_OK;
}
