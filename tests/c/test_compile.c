/* Compiling CUDA C++: PTX, error places, name expressions, the cache and what invalidates it, and a
 * machine without NVRTC. Where there is no NVRTC, only the last is tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/includes.h"
#include "cuda/nvrtc.h"
#include "ptx_scan.h"

static char folder[] = "/tmp/pg_compile_XXXXXX"; /* the test's own; working folder of all tests */

static const char saxpy[] =
    "extern \"C\" __global__ void saxpy(const float *x, float *y, float a, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n";

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
}

static bool have_nvrtc(void) {
  char path[PATH_MAX];
  return pg_nvrtc_find(path, NULL) == PG_OK;
}

static void need_nvrtc(void) {
  if (!have_nvrtc()) skip();
}

/* Compile, expect success, return whether it came from the cache. */
static bool compile(pg_compile_request request, pg_compile_result *result) {
  pg_error error = {0};
  pg_code code = pg_compile(&request, result, &error);
  if (code) fail_msg("%s\n%s", error.message, result->log);
  assert_non_null(result->ptx);
  assert_int_equal(result->bytes, strlen(result->ptx));
  return result->cached;
}

static bool cached(pg_compile_request request) {
  pg_compile_result result;
  bool hit = compile(request, &result);
  pg_compile_free(&result);
  return hit;
}

static pg_code compile_error(pg_compile_request request, pg_error *error, char *log, size_t bytes) {
  pg_compile_result result;
  memset(error, 0, sizeof *error);
  pg_code code = pg_compile(&request, &result, error);
  assert_int_not_equal(code, PG_OK);
  assert_null(result.ptx);
  assert_non_null(result.log);
  if (log) snprintf(log, bytes, "%s", result.log);
  pg_compile_free(&result);
  return code;
}

static void contains(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("expected \"%s\" in:\n%s", part, text);
}

/* ---- PTX ---- */

static void gives_ptx_of_the_default_arch(void **state) {
  (void)state;
  need_nvrtc();
  pg_compile_result result;
  assert_false(compile((pg_compile_request){.source = saxpy, .name = "saxpy.cu"}, &result));
  contains(result.ptx, ".visible .entry saxpy(");
  contains(result.ptx, ".target sm_90");
  contains(result.ptx, ".loc\t1 3 "); /* line information of the third source line */
  assert_string_equal(result.log, "");
  contains(result.compiler, "NVRTC 1");
  assert_true(result.seconds > 0);
  pg_compile_free(&result);
}

static void names_the_file_as_it_was_named(void **state) {
  (void)state;
  need_nvrtc();
  pg_compile_result result;
  compile((pg_compile_request){.source = saxpy, .name = "kernels/saxpy.cu"}, &result);
  contains(result.ptx, ".file\t1 \"kernels/saxpy.cu\"");
  assert_null(strstr(result.ptx, folder));
  pg_compile_free(&result);
}

static void takes_the_arch_and_options(void **state) {
  (void)state;
  need_nvrtc();
  const char *options[] = {"-DN=1234567"};
  pg_compile_result result;
  compile((pg_compile_request){.source = "extern \"C\" __global__ void k(int *p) { *p = N; }",
                               .name = "k.cu",
                               .arch = "compute_80",
                               .options = options,
                               .option_count = 1},
          &result);
  contains(result.ptx, ".target sm_80");
  contains(result.ptx, "1234567");
  pg_compile_free(&result);
}

static void an_arch_newer_than_the_compiler_is_said(void **state) {
  (void)state;
  need_nvrtc();
  pg_compile_result result;
  compile((pg_compile_request){.source = saxpy, .name = "saxpy.cu", .arch = "compute_399"},
          &result);
  contains(result.log, "does not know compute_399; compiled for compute_");
  pg_compile_free(&result);
}

static void instantiates_templates_by_expression(void **state) {
  (void)state;
  need_nvrtc();
  const char *expressions[] = {"fill<float, 4>", "fill<int, 9>"};
  pg_compile_request request = {
      .source = "template <typename T, int N> __global__ void fill(T *p) { *p = N; }",
      .name = "fill.cu",
      .expressions = expressions,
      .expression_count = 2};
  for (int pass = 0; pass < 2; pass++) { /* compiled, then from the cache */
    pg_compile_result result;
    assert_int_equal(compile(request, &result), pass == 1);
    assert_int_equal(result.lowered_count, 2);
    assert_string_equal(result.lowered[0], "_Z4fillIfLi4EEvPT_"); /* the Itanium C++ ABI's name */
    assert_string_equal(result.lowered[1], "_Z4fillIiLi9EEvPT_");
    contains(result.ptx, ".entry _Z4fillIfLi4EEvPT_(");
    pg_compile_free(&result);
  }
}

static void finds_the_toolkits_headers(void **state) {
  (void)state;
  need_nvrtc();
  char library[PATH_MAX], options[2][PATH_MAX + 2];
  assert_int_equal(pg_nvrtc_find(library, NULL), PG_OK);
  if (pg_nvrtc_headers(library, options) == 0) skip();
  pg_compile_result result;
  compile((pg_compile_request){.source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void "
                                         "k(__half *p) { *p = __float2half(2.0f); }",
                               .name = "half.cu"},
          &result);
  contains(result.ptx, ".entry k(");
  pg_compile_free(&result);
}

/* ---- errors ---- */

static void an_error_has_its_file_and_line(void **state) {
  (void)state;
  need_nvrtc();
  pg_error error;
  char log[4096];
  pg_code code = compile_error(
      (pg_compile_request){.source = "__device__ int unused_function() { int unused; return 1; }\n"
                                     "extern \"C\" __global__ void bad(float *p) {\n"
                                     "  p[0] = undefined_thing;\n"
                                     "  p[1] = ;\n}\n",
                           .name = "dir/bad name(1).cu"},
      &error, log, sizeof log);
  assert_int_equal(code, PG_COMPILE);
  assert_string_equal(error.where, "dir/bad name(1).cu:3");
  assert_string_equal(error.message,
                      "dir/bad name(1).cu:3: identifier \"undefined_thing\" is undefined");
  contains(error.hint, "the first of 2 errors");
  contains(log, "expected an expression"); /* the second error is in the log */
}

static void errors_without_a_line_are_counted(void **state) {
  (void)state;
  need_nvrtc();
  pg_error error;
  char log[4096], expected[64];
  compile_error((pg_compile_request){.source = "hello\n", .name = "a.cu"}, &error, log, sizeof log);
  contains(log, "At end of source: error: ");
  int count = 0;
  for (const char *at = log; (at = strstr(at, "error: ")) != NULL; at++) count++;
  snprintf(expected, sizeof expected, "the first of %d errors", count);
  assert_string_equal(error.hint, expected);
}

static void an_error_in_a_header_names_the_header(void **state) {
  (void)state;
  need_nvrtc();
  pg_error error;
  put("broken.h", "\n\nint x = nothing;\n");
  assert_int_equal(
      compile_error((pg_compile_request){.source = "#include \"broken.h\"\n", .name = "main.cu"},
                    &error, NULL, 0),
      PG_COMPILE);
  contains(error.where, "broken.h:3");
}

static void a_missing_header_says_where_headers_are_searched(void **state) {
  (void)state;
  need_nvrtc();
  pg_error error;
  compile_error((pg_compile_request){.source = "\n#include <no_such.h>\n", .name = "m.cu"}, &error,
                NULL, 0);
  assert_string_equal(error.where, "m.cu:2");
  contains(error.hint, "-I");
}

static void headers_of_the_host_are_not_needed(void **state) {
  (void)state;
  need_nvrtc();
  static const struct {
    const char *header, *hint;
  } cases[] = {{"stdint.h", "cuda/std/cstdint"},
               {"cmath", "printf, assert"},
               {"assert.h", "are there without"},
               {"asserts.h", "-I"},
               {"sert.h", "-I"},
               {"no/such", "-I"},
               {"stdio.hpp", "-I"},
               {"a_name_of_more_than_sixteen.h", "-I"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char source[64];
    pg_error error;
    snprintf(source, sizeof source, "#include <%s>\n", cases[i].header);
    compile_error((pg_compile_request){.source = source, .name = "h.cu"}, &error, NULL, 0);
    contains(error.hint, cases[i].hint);
  }
}

static void bad_options_are_compile_errors(void **state) {
  (void)state;
  need_nvrtc();
  pg_error error;
  const char *options[] = {"-no-such-option"};
  assert_int_equal(compile_error(
                       (pg_compile_request){
                           .source = saxpy, .name = "a.cu", .options = options, .option_count = 1},
                       &error, NULL, 0),
                   PG_COMPILE);
  contains(error.message, "a.cu: unrecognized option -no-such-option");
  assert_int_equal(
      compile_error((pg_compile_request){.source = saxpy, .name = "a.cu", .arch = "mips"}, &error,
                    NULL, 0),
      PG_COMPILE);
  options[0] = "-I";
  assert_int_equal(compile_error(
                       (pg_compile_request){
                           .source = saxpy, .name = "a.cu", .options = options, .option_count = 1},
                       &error, NULL, 0),
                   PG_INVALID);
}

static void a_wrong_expression_is_a_compile_error(void **state) {
  (void)state;
  need_nvrtc();
  pg_error error;
  const char *expressions[] = {"nothing<float>"};
  assert_int_equal(compile_error((pg_compile_request){.source = saxpy,
                                                      .name = "a.cu",
                                                      .expressions = expressions,
                                                      .expression_count = 1},
                                 &error, NULL, 0),
                   PG_COMPILE);
  contains(error.message, "nothing");
}

static void no_source_is_an_error(void **state) {
  (void)state;
  pg_error error;
  assert_int_equal(compile_error((pg_compile_request){.name = "a.cu"}, &error, NULL, 0),
                   PG_INVALID);
}

/* ---- the cache ---- */

static void the_second_time_comes_from_the_cache(void **state) {
  (void)state;
  need_nvrtc();
  pg_compile_request request = {
      .source = "extern \"C\" __global__ void second(int *p) { int unused; *p = 2; }",
      .name = "second.cu"};
  pg_compile_result first, again;
  assert_false(compile(request, &first));
  assert_true(compile(request, &again));
  assert_string_equal(first.ptx, again.ptx);
  contains(first.log, "was declared but never referenced");
  assert_string_equal(first.log, again.log); /* warnings are shown again */
  assert_string_equal(first.compiler, again.compiler);
  pg_compile_free(&first);
  pg_compile_free(&again);
  request.no_cache = true;
  assert_false(cached(request));
}

static void whatever_changes_the_result_is_a_miss(void **state) {
  (void)state;
  need_nvrtc();
  const char *define[] = {"-DA=1"}, *other[] = {"-DA=2"};
  pg_compile_request base = {.source = saxpy, .name = "miss.cu"};
  pg_compile_request changed[] = {base, base, base, base, base};
  changed[0].name = "other.cu";
  changed[1].arch = "compute_80";
  changed[2].options = define, changed[2].option_count = 1;
  changed[3].options = other, changed[3].option_count = 1;
  changed[4].source = "extern \"C\" __global__ void k() {}";
  assert_false(cached(base));
  for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
    assert_false(cached(changed[i]));
    assert_true(cached(changed[i]));
  }
  assert_true(cached(base));
}

static void a_changed_header_is_a_miss(void **state) {
  (void)state;
  need_nvrtc();
  mkdir("inc", 0777);
  put("inc/outer.h", "#include \"inner.h\"\n");
  put("inc/inner.h", "#define K 1\n");
  const char *options[] = {"-Iinc"};
  pg_compile_request request = {
      .source = "  #  include <outer.h>\nextern \"C\" __global__ void k(int *p) { *p = K; }",
      .name = "headers.cu",
      .options = options,
      .option_count = 1};
  assert_false(cached(request));
  assert_true(cached(request));
  put("inc/inner.h", "#define K 77777\n");
  pg_compile_result result;
  assert_false(compile(request, &result));
  contains(result.ptx, "77777");
  pg_compile_free(&result);
  put("inc/inner.h", "#define K 1\n");
  assert_true(cached(request));
}

static void a_header_that_appears_earlier_in_the_path_is_a_miss(void **state) {
  (void)state;
  need_nvrtc();
  mkdir("early", 0777), mkdir("late", 0777);
  put("late/where.h", "#define K 1\n");
  const char *options[] = {"-Iearly", "--include-path=late"};
  pg_compile_request request = {
      .source = "#include <where.h>\nextern \"C\" __global__ void k(int *p) { *p = K; }",
      .name = "path.cu",
      .options = options,
      .option_count = 2};
  assert_false(cached(request));
  assert_true(cached(request));
  put("early/where.h", "#define K 88888\n");
  pg_compile_result result;
  assert_false(compile(request, &result));
  contains(result.ptx, "88888");
  pg_compile_free(&result);
}

static void a_header_that_comes_to_exist_is_a_miss(void **state) {
  (void)state;
  need_nvrtc();
  pg_compile_request request = {.source = "#if __has_include(\"optional.h\")\n"
                                          "#include \"optional.h\"\n#else\n#define K 5\n#endif\n"
                                          "extern \"C\" __global__ void k(int *p) { *p = K; }",
                                .name = "optional.cu"};
  assert_false(cached(request));
  assert_true(cached(request));
  put("optional.h", "#define K 99999\n");
  assert_false(cached(request));
}

static void a_pre_included_header_counts(void **state) {
  (void)state;
  need_nvrtc();
  put("pre.h", "#define K 1\n");
  const char *options[] = {"-include=pre.h", "-I."};
  pg_compile_request request = {.source = "extern \"C\" __global__ void k(int *p) { *p = K; }",
                                .name = "pre.cu",
                                .options = options,
                                .option_count = 2};
  assert_false(cached(request));
  assert_true(cached(request));
  put("pre.h", "#define K 2\n");
  assert_false(cached(request));
}

static void what_the_text_cannot_tell_is_never_cached(void **state) {
  (void)state;
  need_nvrtc();
  put("by_macro.h", "\n");
  const char *sources[] = {"#define H \"by_macro.h\"\n#include H\n__global__ void k() {}",
                           "__device__ const char *built = __TIME__; __global__ void k() {}"};
  for (int i = 0; i < 2; i++) {
    pg_compile_request request = {.source = sources[i], .name = "uncertain.cu"};
    assert_false(cached(request));
    assert_false(cached(request));
  }
}

static void headers_that_include_each_other_end(void **state) {
  (void)state;
  need_nvrtc();
  put("one.h", "#pragma once\n#include \"two.h\"\n");
  put("two.h", "#pragma once\n#include \"one.h\"\n#include \"./one.h\"\n");
  pg_compile_request request = {.source = "#include \"one.h\"\n__global__ void k() {}",
                                .name = "cycle.cu"};
  assert_false(cached(request));
  assert_true(cached(request));
}

/* What the scan of `source` makes of `header`: 'y' it counts, 'n' it is not seen, '?' the text
 * cannot tell. */
static char scanned(const char *source, const char *header) {
  static const char *const folders[] = {"."};
  const pg_include_path path = {folders, 1, 1};
  pg_manifest manifest = {0};
  char line[64];
  snprintf(line, sizeof line, "header %s ", header);
  bool certain = pg_includes_scan(source, "scan.cu", NULL, 0, &path, &manifest);
  bool counts = manifest.text && strstr(manifest.text, line);
  pg_manifest_free(&manifest);
  return !certain ? '?' : counts ? 'y' : 'n';
}

/* However a directive is spelt: one that is missed would make a changed header a hit. */
static void every_spelling_of_an_include_is_seen(void **state) {
  (void)state;
  put("seen.h", "\n");
  static const struct {
    const char *source;
    char found;
  } cases[] = {
      {"#include \"seen.h\"", 'y'},
      {" \t# \t include\t\"seen.h\" // why\n", 'y'},
      {"int a;\r\n#include \"seen.h\"\r\n", 'y'},
      {"%:include \"seen.h\"", 'y'},
      {"#include_next <seen.h>", 'y'},
      {"/* why */ #include \"seen.h\"", 'y'},
      {"/* a\n b */ /**/ #include \"seen.h\"", 'y'},
      {"# /* a */ include /* b\n */ \"seen.h\"", 'y'},
      {"#\\\ninclude \"seen.h\"", 'y'},
      {"#include \\\r\n \"seen.h\"", 'y'},
      {"\\\n#include \"seen.h\"", 'y'},
      {"#inc\\\nlude \"seen.h\"", '?'},
      {"#\\\n\\\ni\\\nnclude \"seen.h\"", '?'},
      {"#include MACRO", '?'},
      {"#if __has_include(\"seen.h\")\n#endif", 'y'},
      {"#define\\\n A", 'n'},
      {"#included \"seen.h\"", 'n'},
      {"a * b; a */ c; /* # include", 'n'},
      {"/*", 'n'},
      {"#", 'n'},
      {"*", 'n'},
      {"", 'n'},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char found =
        scanned(cases[i].source,
                cases[i].source[0] && strchr(cases[i].source, '<') ? "./seen.h" : "seen.h");
    if (found != cases[i].found) fail_msg("%c: %s", found, cases[i].source);
  }
}

/* A chain of headers, each in the one before. */
static void deep_headers_do_not_exhaust_the_stack(void **state) {
  (void)state;
  enum { DEEP = 4000 };
  for (int i = 0; i < DEEP; i++) {
    char path[32], text[64];
    snprintf(path, sizeof path, "deep%d.h", i);
    snprintf(text, sizeof text, i + 1 < DEEP ? "#include \"deep%d.h\"\n" : "\n", i + 1);
    put(path, text);
  }
  assert_int_equal(scanned("#include \"deep0.h\"\n", "deep0.h"), '?');
  assert_int_equal(scanned("#include \"deep3900.h\"\n", "deep3999.h"), 'y');
}

/* Path of the only entry of the cache in `under`; the number of files seen is returned. */
static int only_entry(const char *under, char path[PATH_MAX]) {
  char sub[PATH_MAX];
  int files = 0;
  DIR *top = opendir(under);
  for (struct dirent *d; top && (d = readdir(top));) {
    if (d->d_name[0] == '.') continue;
    snprintf(sub, sizeof sub, "%s/%s", under, d->d_name);
    if (d->d_type == DT_DIR) {
      files += only_entry(sub, path);
    } else {
      files++;
      snprintf(path, PATH_MAX, "%s", sub);
    }
  }
  if (top) closedir(top);
  return files;
}

static void flip_byte(const char *path, long from_end) {
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  fseek(file, -from_end, SEEK_END);
  int byte = fgetc(file);
  fseek(file, -1, SEEK_CUR);
  fputc(byte ^ 1, file);
  fclose(file);
}

static void a_damaged_entry_is_ignored_and_replaced(void **state) {
  (void)state;
  need_nvrtc();
  char path[PATH_MAX];
  setenv("PERIGEE_CACHE", "damage", 1);
  pg_compile_request request = {.source = saxpy, .name = "damaged.cu"};
  pg_compile_result good, now;
  assert_false(compile(request, &good));
  for (int harm = 0; harm < 6; harm++) {
    assert_int_equal(only_entry("damage", path), 1);
    if (harm == 0) assert_int_equal(truncate(path, 0), 0);
    if (harm == 1) assert_int_equal(truncate(path, 100), 0);
    if (harm == 2) flip_byte(path, 10);
    if (harm == 3) put(path, "perigee cache 1\nnonsense");
    if (harm == 4) flip_byte(path, (long)good.bytes);
    if (harm == 5) assert_int_equal(unlink(path) | mkfifo(path, 0600), 0); /* nobody writes to it */
    assert_false(compile(request, &now));
    assert_string_equal(now.ptx, good.ptx);
    pg_compile_free(&now);
    assert_true(cached(request));
  }
  pg_compile_free(&good);
  setenv("PERIGEE_CACHE", "cache", 1);
}

static void the_cache_can_be_switched_off(void **state) {
  (void)state;
  need_nvrtc();
  setenv("PERIGEE_CACHE", "off", 1);
  assert_false(cached((pg_compile_request){.source = saxpy, .name = "off.cu"}));
  assert_false(cached((pg_compile_request){.source = saxpy, .name = "off.cu"}));
  assert_int_not_equal(access("off", F_OK), 0);
  setenv("PERIGEE_CACHE", "cache", 1);
}

static void the_cache_lies_where_xdg_says(void **state) {
  (void)state;
  need_nvrtc();
  char xdg[PATH_MAX], path[PATH_MAX];
  snprintf(xdg, sizeof xdg, "%s/xdg", folder);
  unsetenv("PERIGEE_CACHE");
  setenv("XDG_CACHE_HOME", xdg, 1);
  assert_false(cached((pg_compile_request){.source = saxpy, .name = "xdg.cu"}));
  assert_int_equal(only_entry("xdg/perigee/ptx", path), 1);
  unsetenv("XDG_CACHE_HOME");
  setenv("PERIGEE_CACHE", "cache", 1);
}

static void a_cache_that_cannot_be_written_is_no_error(void **state) {
  (void)state;
  need_nvrtc();
  put("a_file", "");
  setenv("PERIGEE_CACHE", "a_file", 1);
  assert_false(cached((pg_compile_request){.source = saxpy, .name = "nowhere.cu"}));
  setenv("PERIGEE_CACHE", "cache", 1);
}

static void a_full_disk_is_no_error_and_leaves_nothing(void **state) {
  (void)state;
  need_nvrtc();
  char path[PATH_MAX];
  struct rlimit before, small;
  setenv("PERIGEE_CACHE", "full", 1);
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  small = (struct rlimit){64, before.rlim_max}; /* a file ends after 64 bytes, as on a full disk */
  setrlimit(RLIMIT_FSIZE, &small);
  bool hit = cached((pg_compile_request){.source = saxpy, .name = "full.cu"});
  setrlimit(RLIMIT_FSIZE, &before);
  assert_false(hit);
  assert_int_equal(only_entry("full", path), 0);
  setenv("PERIGEE_CACHE", "cache", 1);
}

/* ---- finding NVRTC ---- */

static void without_nvrtc_the_error_says_how_to_get_it(void **state) {
  (void)state;
  pg_error error;
  char version[48], path[PATH_MAX];
  setenv("PERIGEE_NVRTC", "/nonexistent", 1);
  assert_int_equal(compile_error((pg_compile_request){.source = saxpy}, &error, NULL, 0),
                   PG_ENVIRONMENT);
  contains(error.message, "PERIGEE_NVRTC=/nonexistent holds no libnvrtc");
  assert_true(error.hint[0] != '\0');
  assert_int_equal(pg_compiler_info(version, sizeof version, path, sizeof path, &error),
                   PG_ENVIRONMENT);
  unsetenv("PERIGEE_NVRTC");
}

static void a_library_that_is_no_nvrtc_is_refused(void **state) {
  (void)state;
  pg_error error;
  put("libnvrtc.so.13", "this is no library\n");
  setenv("PERIGEE_NVRTC", "libnvrtc.so.13", 1);
  setenv("PERIGEE_CACHE", "off", 1);
  assert_int_equal(compile_error((pg_compile_request){.source = saxpy}, &error, NULL, 0),
                   PG_ENVIRONMENT);
  contains(error.message, "NVRTC does not load");
  setenv("PERIGEE_CACHE", "cache", 1);
  unsetenv("PERIGEE_NVRTC");
}

static void make_folders(const char *path) {
  char part[PATH_MAX];
  snprintf(part, sizeof part, "%s", path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(part, 0777);
    *slash = '/';
  }
}

static void found_at(const char *variable, const char *value, const char *file) {
  char path[PATH_MAX], real[PATH_MAX], wanted[PATH_MAX];
  make_folders(file);
  put(file, "");
  setenv(variable, value, 1);
  assert_int_equal(pg_nvrtc_find(path, NULL), PG_OK);
  assert_non_null(realpath(path, real));
  assert_non_null(realpath(file, wanted));
  assert_string_equal(real, wanted);
  unsetenv(variable);
}

static void is_found_where_it_can_be(void **state) {
  (void)state;
  found_at("PERIGEE_NVRTC", "named", "named/libnvrtc.so.12");
  found_at("PERIGEE_NVRTC", "toolkit", "toolkit/lib64/libnvrtc.so.11.2");
  found_at("PERIGEE_HOME", "dist", "dist/lib/libnvrtc.so.13");
  found_at("PERIGEE_HOME", "clone", "clone/build/deps/nvrtc/nvidia/cu13/lib/libnvrtc.so.13");
  found_at("PERIGEE_HOME", "clone12",
           "clone12/build/deps/nvrtc/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
}

static void the_newest_of_a_folder_is_taken(void **state) {
  (void)state;
  make_folders("many/x");
  put("many/libnvrtc.so", "");
  put("many/libnvrtc.so.9.1", "");
  put("many/libnvrtc.so.11.2", "");
  put("many/libnvrtc.alt.so.13", "");
  found_at("PERIGEE_NVRTC", "many", "many/libnvrtc.so.12");
}

/* ---- kinds of parameters, read from PTX ---- */

static void parameter_kinds_come_from_the_ptx(void **state) {
  (void)state;
  need_nvrtc();
  pg_compile_result result;
  compile(
      (pg_compile_request){
          .source = "struct S { double a; char b[9]; };\n"
                    "extern \"C\" __global__ void k(const float *x, long long n, short h, "
                    "float f, double d, S s, int *out, bool t, unsigned char *unused) {\n"
                    "  if (t) *out = (int)(n + h + f + d + s.a + s.b[3] + x[1]);\n}\n",
          .name = "kinds.cu"},
      &result);
  pg_ptx_scan scan;
  assert_int_equal(pg_ptx_scan_text(result.ptx, result.bytes, &scan, NULL), PG_OK);
  const pg_ptx_entry *k = pg_ptx_scan_find(&scan, "k");
  assert_non_null(k);
  assert_int_equal(k->param_count, 9);
  static const pg_param wanted[] = {{0, 8, 'p'},  {8, 8, 'i'},  {16, 2, 'i'},
                                    {20, 4, 'f'}, {24, 8, 'f'}, {32, 24, 'b'},
                                    {56, 8, 'p'}, {64, 1, 'i'}, {72, 8, 'i'}};
  for (int i = 0; i < 9; i++) {
    assert_int_equal(k->params[i].offset, wanted[i].offset);
    assert_int_equal(k->params[i].size, wanted[i].size);
    if (i != 8) assert_int_equal(k->params[i].kind, wanted[i].kind); /* newer ones write .ptr */
  }
  assert_int_equal(k->param_bytes, 80);
  assert_false(scan.traps);
  pg_ptx_scan_free(&scan);
  pg_compile_free(&result);
}

static void scanning_knows_ptx_by_other_compilers(void **state) {
  (void)state;
  static const char ptx[] =
      "//\n.version 8.6 /* .entry no() */\n.target sm_80\n.address_size 64\n"
      ".func (.param .b32 r) helper(.param .b64 p) { ret; }\n"
      ".visible .entry first(\n"
      "\t.param .u64 .ptr .global .align 16 a, // pointer\n"
      "\t.param .align 16 .b8 b[40],\n\t.param .b32 c,\n\t.param .b64 d\n)\n.reqntid 128\n{\n"
      "\tld.param.b64 %rd1, [d];\n\tld.global.f32 %f1, [%rd1+4];\n\t@%p1 trap;\n}\n"
      ".entry second() { ret; }\n.weak .entry third { ret; }\n";
  pg_ptx_scan scan;
  assert_int_equal(pg_ptx_scan_text(ptx, sizeof ptx - 1, &scan, NULL), PG_OK);
  assert_int_equal(scan.version_major, 8);
  assert_int_equal(scan.version_minor, 6);
  assert_int_equal(scan.entry_count, 3);
  assert_true(scan.traps);
  const pg_ptx_entry *first = pg_ptx_scan_find(&scan, "first");
  static const pg_param wanted[] = {{0, 8, 'p'}, {16, 40, 'b'}, {56, 4, '?'}, {64, 8, 'p'}};
  assert_int_equal(first->param_count, 4);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(first->params[i].offset, wanted[i].offset);
    assert_int_equal(first->params[i].size, wanted[i].size);
    assert_int_equal(first->params[i].kind, wanted[i].kind);
  }
  assert_int_equal(pg_ptx_scan_find(&scan, "second")->param_count, 0);
  assert_int_equal(pg_ptx_scan_find(&scan, "third")->param_count, 0);
  pg_ptx_scan_free(&scan);
}

static void scanning_any_bytes_is_safe(void **state) {
  (void)state;
  static const char seed[] =
      ".version 8.6 .entry k(.param .u64 .ptr a, .param .align 4 .b8 b[3]) { ld.param.u64 %r, [a]; "
      "cvta.to.global.u64 %q, %r; } .file 1 \"x\" /* c */ // d\n";
  char text[sizeof seed];
  uint32_t random = 1;
  for (int round = 0; round < 20000; round++) {
    memcpy(text, seed, sizeof seed);
    for (int i = 0; i < 4; i++) {
      random = random * 1664525u + 1013904223u;
      text[(random >> 8) % (sizeof seed - 1)] = (char)(random >> 24);
    }
    size_t bytes = (random >> 4) % sizeof seed;
    char *exact = malloc(bytes ? bytes : 1); /* so that a sanitizer sees a step past the end */
    memcpy(exact, text, bytes);
    pg_ptx_scan scan;
    assert_int_equal(pg_ptx_scan_text(exact, bytes, &scan, NULL), PG_OK);
    pg_ptx_scan_free(&scan);
    free(exact);
  }
}

static int enter(void **state) {
  (void)state;
  unsetenv("PERIGEE_NVRTC");
  unsetenv("PERIGEE_HOME");
  if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
  return setenv("PERIGEE_CACHE", "cache", 1);
}

static int leave(void **state) {
  (void)state;
  char command[PATH_MAX];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return chdir("/") != 0 || system(command) != 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_ptx_of_the_default_arch),
      cmocka_unit_test(names_the_file_as_it_was_named),
      cmocka_unit_test(takes_the_arch_and_options),
      cmocka_unit_test(an_arch_newer_than_the_compiler_is_said),
      cmocka_unit_test(instantiates_templates_by_expression),
      cmocka_unit_test(finds_the_toolkits_headers),
      cmocka_unit_test(an_error_has_its_file_and_line),
      cmocka_unit_test(errors_without_a_line_are_counted),
      cmocka_unit_test(an_error_in_a_header_names_the_header),
      cmocka_unit_test(a_missing_header_says_where_headers_are_searched),
      cmocka_unit_test(headers_of_the_host_are_not_needed),
      cmocka_unit_test(bad_options_are_compile_errors),
      cmocka_unit_test(a_wrong_expression_is_a_compile_error),
      cmocka_unit_test(no_source_is_an_error),
      cmocka_unit_test(the_second_time_comes_from_the_cache),
      cmocka_unit_test(whatever_changes_the_result_is_a_miss),
      cmocka_unit_test(a_changed_header_is_a_miss),
      cmocka_unit_test(a_header_that_appears_earlier_in_the_path_is_a_miss),
      cmocka_unit_test(a_header_that_comes_to_exist_is_a_miss),
      cmocka_unit_test(a_pre_included_header_counts),
      cmocka_unit_test(what_the_text_cannot_tell_is_never_cached),
      cmocka_unit_test(headers_that_include_each_other_end),
      cmocka_unit_test(every_spelling_of_an_include_is_seen),
      cmocka_unit_test(deep_headers_do_not_exhaust_the_stack),
      cmocka_unit_test(a_damaged_entry_is_ignored_and_replaced),
      cmocka_unit_test(the_cache_can_be_switched_off),
      cmocka_unit_test(the_cache_lies_where_xdg_says),
      cmocka_unit_test(a_cache_that_cannot_be_written_is_no_error),
      cmocka_unit_test(a_full_disk_is_no_error_and_leaves_nothing),
      cmocka_unit_test(without_nvrtc_the_error_says_how_to_get_it),
      cmocka_unit_test(a_library_that_is_no_nvrtc_is_refused),
      cmocka_unit_test(is_found_where_it_can_be),
      cmocka_unit_test(the_newest_of_a_folder_is_taken),
      cmocka_unit_test(parameter_kinds_come_from_the_ptx),
      cmocka_unit_test(scanning_knows_ptx_by_other_compilers),
      cmocka_unit_test(scanning_any_bytes_is_safe),
  };
  return cmocka_run_group_tests_name("compile", tests, enter, leave);
}
