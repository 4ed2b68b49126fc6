/* The zoo: small faulty kernels in tests/zoo, each with the exact report of sim:check in the
 * comment before it, and its repaired twin NAME_fixed that must be left alone. ZOO_PRINT=1 prints
 * what was reported instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"

enum { TEXT_MAX = 1 << 16, BUFFER = 1024, LINE = 512 };

typedef struct animal {
  char file[64], name[64];
  uint32_t grid, block;
  char want[TEXT_MAX]; /* the report, one line a line */
} animal;

static const char *const FILES[] = {"bounds", "uninitialized", "race", "grid", "sync", "async"};
static pg_error error;

static void ok(pg_code code) {
  if (code) fail_msg("%s: %s", pg_code_name(code), error.message);
}

static char *read_file(const char *stem, const char *suffix) {
  char path[128];
  snprintf(path, sizeof path, "tests/zoo/%s%s", stem, suffix);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be read", path);
  char *text = calloc(1, 1 << 20);
  size_t n = fread(text, 1, (1 << 20) - 1, f);
  fclose(f);
  assert_true(n > 0);
  return text;
}

/* ---- running one kernel ---- */

static pg_ptr buffer(pg_device *d, const char *name, bool written, bool read_only) {
  pg_ptr at;
  ok(d->ops->alloc(d, BUFFER, &at, &error));
  ok(d->ops->name(d, at, BUFFER, name, read_only, &error));
  if (written) ok(d->ops->fill(d, at, 0, 1, BUFFER, NULL, &error));
  return at;
}

/* The text without addresses: where memory lies is the machine's business. */
static void add_text(char *out, const char *text) {
  char line[LINE];
  while (*text) {
    size_t n = strcspn(text, "\n");
    snprintf(line, sizeof line, "%.*s", (int)n, text);
    if (!strstr(line, "address 0x")) {
      strcat(out, line);
      strcat(out, "\n");
    }
    text += text[n] ? n + 1 : n;
  }
}

static void add_reports(pg_device *d, pg_code code, char *out, char *kinds) {
  static pg_fault list[PG_FINDING_MAX], fault;
  d->ops->fault(d, &fault);
  int n = d->ops->findings(d, list, PG_FINDING_MAX, true);
  bool among = false, verdict = fault.kind != PG_FAULT_NONE;
  for (int i = 0; i < n; i++) {
    among |= strcmp(list[i].text, fault.text) == 0;
    add_text(out, list[i].text);
    if (!strstr(kinds, pg_fault_name(list[i].kind))) strcat(kinds, pg_fault_name(list[i].kind));
  }
  if (verdict && !among) {
    add_text(out, fault.text);
    strcat(kinds, pg_fault_name(fault.kind));
  }
  assert_int_equal(code != PG_OK, verdict); /* a launch fails when there is a verdict */
}

static void run(const animal *a, const char *kernel, const char *ptx, int workers, uint64_t seed,
                char *out, char *kinds) {
  pg_sim_options options = {.mode = PG_SIM_CHECK, .workers = workers, .seed = seed, .limit_s = 0.3};
  pg_device *d;
  pg_module *m;
  *out = *kinds = 0;
  ok(pg_sim_open(&options, &d, &error));
  ok(d->ops->load(d, ptx, strlen(ptx), a->file, &m, &error));
  struct {
    pg_ptr a, b, c, gone;
    int n;
  } params = {buffer(d, "a", true, false), buffer(d, "b", false, false), buffer(d, "c", true, true),
              buffer(d, "gone", true, false), 64};
  ok(d->ops->free(d, params.gone, &error));
  pg_launch l = {.grid = {a->grid, 1, 1},
                 .block = {a->block, 1, 1},
                 .shared = 64,
                 .params = &params,
                 .param_bytes = offsetof(__typeof__(params), n) + sizeof params.n};
  ok(d->ops->kernel(d, m, kernel, &l.kernel, &error));
  add_reports(d, d->ops->launch(d, &l, NULL, &error), out, kinds);
  d->ops->close(d);
}

/* ---- the animals of a file ---- */

static void check_animal(const animal *a, const char *ptx) {
  static char got[TEXT_MAX];
  char fixed[96], kinds[256], shuffled[256];
  run(a, a->name, ptx, 1, 0, got, kinds);
  if (getenv("ZOO_PRINT")) {
    printf("== %s\n%s", a->name, got);
    return;
  }
  /* A report that ends with "..." may go on: where a loop was when its time was over. */
  size_t n = strlen(a->want);
  bool open = n > 4 && strcmp(a->want + n - 4, "...\n") == 0;
  assert_true(n > 0);
  if (open ? strncmp(got, a->want, n - 4) != 0 : strcmp(got, a->want) != 0)
    fail_msg("%s %s: expected\n%sgot\n%s", a->file, a->name, a->want, got);
  snprintf(fixed, sizeof fixed, "%s_fixed", a->name);
  for (uint64_t seed = 0; seed < 6; seed++) {
    for (int workers = 1; workers <= 2; workers++) {
      run(a, fixed, ptx, workers, seed, got, shuffled);
      if (*got) fail_msg("%s %s, seed %d, is right, but\n%s", a->file, fixed, (int)seed, got);
      if (open && seed > 1) continue; /* they take their time */
      run(a, a->name, ptx, workers, seed, got, shuffled);
      /* Whatever the schedule; only what a race leaves unwritten depends on it. */
      if (!strstr(shuffled, strstr(kinds, "race") ? "race" : kinds))
        fail_msg("%s %s, seed %d: %s instead of %s", a->file, a->name, (int)seed, shuffled, kinds);
    }
  }
}

static int check_file(const char *stem) {
  static animal a;
  char *source = read_file(stem, ".cu"), *ptx = read_file(stem, ".ptx"), *save;
  int count = 0;
  memset(&a, 0, sizeof a);
  snprintf(a.file, sizeof a.file, "%s.ptx", stem);
  for (char *line = strtok_r(source, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (sscanf(line, "// launch %u %u", &a.grid, &a.block) == 2) *a.want = 0;
    if (strncmp(line, "// > ", 5) == 0) {
      strcat(a.want, line + 5);
      strcat(a.want, "\n");
    }
    if (sscanf(line, "KERNEL(%63[a-z_])", a.name) != 1 || strstr(a.name, "_fixed")) continue;
    check_animal(&a, ptx);
    count++;
  }
  free(source);
  free(ptx);
  return count;
}

static void faults_are_reported_and_repairs_are_not(void **state) {
  (void)state;
  int count = 0;
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) count += check_file(FILES[i]);
  assert_true(count >= 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(faults_are_reported_and_repairs_are_not)};
  return cmocka_run_group_tests_name("simulator, zoo of faults", tests, NULL, NULL);
}
