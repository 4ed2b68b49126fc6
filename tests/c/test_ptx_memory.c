/* PTX parser: when the n-th allocation fails, for every n, the answer is an error and nothing
 * leaks. */
#include "ptx_tests.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

/* glibc's own allocator, under the names that this program's definitions hide. */
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *at, size_t bytes);
extern void __libc_free(void *at);

static long left = -1; /* allocations until one fails; negative: none will */
static long live;      /* blocks allocated and not freed while armed */
static bool armed;

static bool fails(void) {
  return armed && left >= 0 && left-- == 0;
}

void *calloc(size_t count, size_t bytes) {
  if (fails()) return NULL;
  void *out = __libc_calloc(count, bytes);
  if (armed && out) live++;
  return out;
}

void *realloc(void *at, size_t bytes) {
  if (fails()) return NULL;
  void *out = __libc_realloc(at, bytes);
  if (armed && out && !at) live++;
  return out;
}

void free(void *at) {
  if (armed && at) live--;
  __libc_free(at);
}

static const char text[] =
    HEADER ".func f(.param .b32 a) { ret; }\n.global .u64 x[] = {f, generic(x)};\n.func h(.param "
           ".b32 a);\n"
           ".alias h, f;\n.entry k() { .reg .b32 %r<9>; .reg .b64 d; .loc 1 3 4\n { .param .b32 p; "
           "L: L2:\n"
           " t: .branchtargets L, L2; brx.idx %r1, t; call f, (p); mov.b64 {%r1, %r2}, later; } }\n"
           ".func later() { ret; }\n.file 1 \"a\" \"b\"\n";

static pg_code parse_with(long allocations, ptx_module **module, pg_error *error) {
  armed = true;
  left = allocations;
  pg_code code = ptx_parse(text, sizeof text - 1, "t.ptx", module, error);
  left = -1;
  return code;
}

static void every_failing_allocation_is_an_error(void **state) {
  (void)state;
  ptx_module *module = NULL;
  pg_error error = {0};
  long n = 0;
  live = 0;
  for (pg_code code = PG_MEMORY; code != PG_OK; n++) {
    code = parse_with(n, &module, &error);
    if (code == PG_OK) ptx_free(module);
    armed = false;
    if (code != PG_OK && (code != PG_MEMORY || error.code != PG_MEMORY || module))
      fail_msg("allocation %ld: code %d, %s", n, code, error.message);
    if (live) fail_msg("allocation %ld: %ld blocks leak", n, live);
  }
  assert_true(n > 10); /* the allocator above was the one in use */
}

#else

static void every_failing_allocation_is_an_error(void **state) {
  (void)state;
  skip(); /* a sanitizer has an allocator of its own */
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_failing_allocation_is_an_error)};
  return cmocka_run_group_tests_name("ptx_memory", tests, NULL, NULL);
}
