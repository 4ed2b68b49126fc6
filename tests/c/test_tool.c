/* Compilers that are programs: what they may take, and that nothing of them is left. Shell scripts
 * stand for them. This program is its own worker. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "fake_device.h"
#include "judge/child.h"
#include "judge/watch.h"
#include "judge/worker.h"

static pg_worker *spawn(void) {
  pg_worker *w;
  pg_error error = {0};
  if (pg_worker_spawn("compiler", &w, &error)) fail_msg("%s", error.message);
  return w;
}

/* The reply to a script, as text. The judge has the same limits: it may be the one that looks. */
static char *answer(pg_worker *w, const char *script) {
  json_t *request = json_pack("{s:s,s:[s,s,s]}", "op", "tool", "argv", "sh", "-c", script);
  char *text = json_dumps(request, 0), *reply;
  pg_error error = {0};
  if (pg_worker_call(w, text, 60, &reply, &error)) reply = strdup(error.message);
  free(text);
  json_decref(request);
  return reply;
}

/* The script is ended for that reason, which is the candidate's fault. */
static void ends(const char *script, const char *why) {
  pg_worker *w = spawn();
  char *reply = answer(w, script);
  if (!strstr(reply, why) || strstr(reply, "environment")) fail_msg("%s", reply);
  free(reply);
  pg_worker_free(w);
}

static bool exists(int pid) {
  return kill(pid, 0) == 0;
}

static bool ends_soon(int pid) {
  for (int i = 0; i < 3000; i++) {
    waitpid(pid, NULL, WNOHANG); /* a grandchild comes to us: we are the subreaper */
    if (!exists(pid)) return true;
    usleep(1000);
  }
  return false;
}

/* ---- processes ---- */

/* All end by themselves after a moment, should nobody end them. */
static void one_that_breeds_is_ended(void **state) {
  (void)state;
  ends("i=0; while [ $i -lt 400 ]; do sleep 5 & i=$((i+1)); done; wait",
       "started more than 256 processes");
}

static void orphans_count(void **state) {
  (void)state;
  ends("i=0; while [ $i -lt 400 ]; do (sleep 5 &) ; i=$((i+1)); done; sleep 5",
       "started more than 256 processes");
}

static void descendants_count_however_deep(void **state) {
  (void)state;
  ends("f() { [ $1 -gt 0 ] || exec sleep 5; ( f $(($1-1)); : ); }; f 300",
       "started more than 256 processes");
}

static void what_it_leaves_ends_with_it(void **state) {
  (void)state;
  pg_worker *w = spawn();
  char *reply = answer(w, "(sleep 100 & echo $!); sleep 100 & echo $!");
  const char *output = strstr(reply, "\"output\":\"");
  int orphan = 0, child = 0;
  assert_non_null(output);
  assert_int_equal(sscanf(output, "\"output\":\"%d\\n%d", &orphan, &child), 2);
  assert_non_null(strstr(reply, "\"status\":0"));
  assert_false(exists(orphan));
  assert_false(exists(child));
  assert_int_equal(pg_usage_of(pg_worker_pid(w)).processes, 1);
  free(reply);
  pg_worker_free(w);
}

/* The first process that `pid` has started, in its first thread; 0: none. */
static int first_child(int pid) {
  char path[64];
  int child = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%d", &child) != 1) child = 0;
  if (f) fclose(f);
  return child;
}

static int wait_for_child(int pid) {
  int child = 0;
  for (int i = 0; i < 3000 && !child; i++, usleep(1000)) child = first_child(pid);
  return child;
}

/* Memory counts in what a worker has started, and dies with the judge: a tool's own children. */
static void what_a_tool_has_started_counts_and_dies_with_the_judge(void **state) {
  (void)state;
  static const char request[] = "{\"op\":\"tool\",\"toolchain\":[],\"trust\":true,\"argv\":[\"sh\","
                                "\"-c\",\"sleep 1000 & sleep 1000 & wait\"]}";
  int pair[2], worker = 0;
  char *reply;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  assert_int_equal(pipe(pair), 0);
  pid_t judge = fork();
  if (judge == 0) {
    pg_worker *w = spawn();
    worker = pg_worker_pid(w);
    if (write(pair[1], &worker, sizeof worker) < 0) _exit(1);
    pg_worker_call(w, request, 1000, &reply, NULL);
    _exit(1);
  }
  assert_int_equal(read(pair[0], &worker, sizeof worker), sizeof worker);
  int tool = wait_for_child(worker), grandchild = wait_for_child(tool);
  assert_true(grandchild > 0);
  assert_true(pg_usage_of(worker).memory > pg_usage_of(tool).memory);
  assert_true(pg_usage_of(tool).memory > pg_usage_of(grandchild).memory);
  assert_true(pg_usage_of(worker).processes >= 3);
  kill(judge, SIGKILL);
  assert_true(ends_soon(judge));
  assert_true(ends_soon(worker));
  assert_true(ends_soon(tool));
  assert_true(ends_soon(grandchild));
  close(pair[0]);
  close(pair[1]);
}

/* ---- memory ---- */

/* dd fills a buffer of that many bytes; together they have too much. */
static void memory_is_bounded_by_what_the_machine_has(void **state) {
  (void)state;
  pg_allowance own = pg_allowance_of(true, 0), held = pg_allowance_of(true, (size_t)3 << 30);
  assert_true(own.memory <= (size_t)3 << 30);
  assert_int_equal(own.scarce, own.memory < (size_t)3 << 30);
  assert_false(held.scarce);
  assert_true(pg_allowance_of(false, 1 << 20).scarce);
  if (own.scarce) skip();
  ends("dd if=/dev/zero of=/dev/null bs=1900M count=9 & dd if=/dev/zero of=/dev/null bs=1900M "
       "count=9 & wait",
       "GiB of memory, and may have 3 GiB");
}

/* ---- files ---- */

static void files_are_bounded_in_all(void **state) {
  (void)state;
  struct statvfs disk;
  assert_int_equal(statvfs("/tmp", &disk), 0);
  if ((double)disk.f_bavail * (double)disk.f_frsize < 0x1p31) skip();
  ends("for i in 1 2 3 4 5 6; do fallocate -l 250M f$i || exit; done; sleep 5",
       "written more than 1 GiB");
}

static void their_number_is_bounded(void **state) {
  (void)state;
  ends("mkdir deep; cd deep; i=0; while [ $i -lt 11000 ]; do : >$i; i=$((i+1)); done; sleep 5",
       "10000 files");
}

/* Deeper than any path is long, and closed to who would look inside. */
static void what_it_writes_is_removed_however_deep(void **state) {
  (void)state;
  char folder[64];
  pg_worker *w = spawn();
  char *reply = answer(w, "perl -e 'mkdir \"shut\", 0; for (1..3000) { mkdir \"d\" x 100 or die; "
                          "chdir \"d\" x 100; open F, \">file\"; } mkdir \"shut\"; "
                          "mkdir \"shut/in\"; chmod 0, \"shut\"' && echo made");
  if (!strstr(reply, "made") && !strstr(reply, "folders deep")) fail_msg("%s", reply);
  free(reply);
  snprintf(folder, sizeof folder, "/tmp/perigee-tool-%d", pg_worker_pid(w));
  pg_worker_free(w);
  assert_int_equal(access(folder, F_OK), -1);
}

/* A judge that is killed cannot remove its worker's folder: the next one does, an hour later. */
static void what_the_dead_left_is_removed(void **state) {
  (void)state;
  static const char *const names[] = {"/tmp/perigee-tool-999999999", "/tmp/perigee-tool-999999998"};
  const struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  for (int i = 0; i < 2; i++) assert_true(mkdir(names[i], 0700) == 0 || errno == EEXIST);
  assert_int_equal(utimensat(AT_FDCWD, names[0], long_ago, 0), 0);
  pg_worker *w = spawn();
  free(answer(w, "true"));
  assert_int_equal(access(names[0], F_OK), -1);
  assert_int_equal(access(names[1], F_OK), 0);
  rmdir(names[1]);
  pg_worker_free(w);
}

static void deep_folders_are_bounded(void **state) {
  (void)state;
  ends("d=; for i in $(seq 80); do d=${d}d/; done; mkdir -p $d; sleep 5", "64 folders deep");
}

int main(int argc, char **argv) {
  unsetenv("TMPDIR");
  if (argc > 1 && strcmp(argv[1], "--worker") == 0)
    return pg_child_main(argc, argv, fake_open, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_that_breeds_is_ended),
      cmocka_unit_test(orphans_count),
      cmocka_unit_test(descendants_count_however_deep),
      cmocka_unit_test(what_it_leaves_ends_with_it),
      cmocka_unit_test(what_a_tool_has_started_counts_and_dies_with_the_judge),
      cmocka_unit_test(memory_is_bounded_by_what_the_machine_has),
      cmocka_unit_test(files_are_bounded_in_all),
      cmocka_unit_test(their_number_is_bounded),
      cmocka_unit_test(what_the_dead_left_is_removed),
      cmocka_unit_test(deep_folders_are_bounded),
      cmocka_unit_test(what_it_writes_is_removed_however_deep),
  };
  return cmocka_run_group_tests_name("tool", tests, NULL, NULL);
}
