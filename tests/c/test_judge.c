/* Worker processes: start, restrictions, messages, deadlines, deaths, shared memory. This program
 * is its own worker: started with --worker it serves requests over the fake device. */
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#include "fake_device.h"
#include "judge/child.h"
#include "judge/watch.h"
#include "judge/wire.h"
#include "judge/worker.h"

/* ---- helpers ---- */

static pg_worker *spawn(const char *role) {
  pg_worker *w;
  pg_error error = {0};
  if (pg_worker_spawn(role, &w, &error)) fail_msg("%s", error.message);
  return w;
}

static char *call(pg_worker *w, const char *request) {
  char *reply;
  pg_error error = {0};
  if (pg_worker_call(w, request, 60, &reply, &error)) fail_msg("%s", error.message);
  return reply;
}

static void good(pg_worker *w, const char *request) {
  char *reply = call(w, request);
  if (strncmp(reply, "{\"ok\":true", 10) != 0) fail_msg("%s", reply);
  free(reply);
}

/* The reply is an error of that code. */
static void bad(pg_worker *w, const char *request, const char *code) {
  char *reply = call(w, request), expected[64];
  snprintf(expected, sizeof expected, "{\"ok\":false,\"error\":{\"code\":\"%s\",", code);
  if (strncmp(reply, expected, strlen(expected)) != 0) fail_msg("%s", reply);
  free(reply);
}

static pg_worker *spawn_runner(void) {
  pg_worker *w = spawn("runner");
  good(w, "{\"op\":\"open\",\"device\":\"fake\"}");
  good(w, "{\"op\":\"load\",\"image\":\"fake\"}");
  good(w, "{\"op\":\"buffers\",\"sets\":1,\"buffers\":[]}");
  return w;
}

#define RUN(kernel)                                           \
  "{\"op\":\"run\",\"set\":0,\"plan\":[{\"launch\":\"" kernel \
  "\",\"grid\":[1],\"block\":[1],\"args\":[]}]}"

/* The call fails with that code, and its message contains `words`. */
static void fails(pg_worker *w, const char *request, double deadline, pg_code code,
                  const char *words) {
  char *reply;
  pg_error error = {0};
  assert_int_equal(pg_worker_call(w, request, deadline, &reply, &error), code);
  assert_null(reply);
  if (!strstr(error.message, words)) fail_msg("\"%s\" lacks \"%s\"", error.message, words);
}

static bool exists(int pid) {
  return kill(pid, 0) == 0;
}

/* A field of /proc/PID/status or a line of /proc/PID/limits. */
static void proc_line(int pid, const char *file, const char *start, char *line, int bytes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  do assert_non_null(fgets(line, bytes, f));
  while (strncmp(line, start, strlen(start)) != 0);
  fclose(f);
}

/* ---- start and restrictions ---- */

static void a_worker_starts_fast_and_says_what_it_may_not(void **state) {
  (void)state;
  static const char *roles[] = {"runner", "compiler"};
  for (int i = 0; i < 2; i++) {
    double start = pg_now();
    pg_worker *w = spawn(roles[i]);
    double took = pg_now() - start;
    print_message("%s: ready in %.1f ms: %s\n", roles[i], 1e3 * took, pg_worker_sandbox(w));
    assert_true(took <
                2); /* a few ms on an idle machine; sanitizers and neighbours take their time */
    assert_non_null(strstr(pg_worker_sandbox(w),
                           "own-group parent-death no-new-privs no-core-dumps "
                           "closed-descriptors clean-environment"));
    pg_worker_free(w);
  }
}

static void an_unknown_role_is_refused(void **state) {
  (void)state;
  pg_worker *w;
  pg_error error = {0};
  assert_int_equal(pg_worker_spawn("gardener", &w, &error), PG_INVALID);
  assert_null(w);
  assert_string_equal(error.hint,
                      "the roles are runner, simulator, unconfined, trusted and compiler");
}

static void the_restrictions_hold(void **state) {
  (void)state;
  char line[256];
  pg_worker *w = spawn("runner");
  int pid = pg_worker_pid(w);
  assert_int_equal(getpgid(pid), pid);
  proc_line(pid, "status", "NoNewPrivs:", line, sizeof line);
  assert_int_equal(line[strcspn(line, "0123456789")], '1');
  proc_line(pid, "limits", "Max core file size", line, sizeof line);
  assert_true(atoi(line + strcspn(line, "0123456789")) <= 1);
  pg_worker_free(w);
}

static void secrets_in_the_environment_and_descriptors_stay_behind(void **state) {
  (void)state;
  char path[64], text[16384];
  int secret = dup2(STDIN_FILENO, 77); /* without close-on-exec */
  assert_int_equal(secret, 77);
  setenv("SEED_OF_THE_JUDGE", "12345", 1);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  pg_worker *w = spawn("runner");
  snprintf(path, sizeof path, "/proc/%d/environ", pg_worker_pid(w));
  int fd = open(path, O_RDONLY);
  ssize_t n = read(fd, text, sizeof text);
  assert_true(n > 0);
  assert_null(memmem(text, (size_t)n, "SEED_OF_THE_JUDGE", 17));
  assert_non_null(memmem(text, (size_t)n, "CUDA_CACHE_DISABLE=1", 20));
  assert_non_null(memmem(text, (size_t)n, "CUDA_VISIBLE_DEVICES=", 21));
  close(fd);
  snprintf(path, sizeof path, "/proc/%d/fd", pg_worker_pid(w));
  DIR *folder = opendir(path);
  for (struct dirent *e; (e = readdir(folder));) assert_true(atoi(e->d_name) <= 3);
  closedir(folder);
  close(secret);
  unsetenv("SEED_OF_THE_JUDGE");
  unsetenv("CUDA_VISIBLE_DEVICES");
  pg_worker_free(w);
}

/* Whether a fresh worker of this role has the variable. */
static bool worker_has(const char *role, const char *assignment) {
  char path[64], text[16384];
  pg_worker *w = spawn(role);
  snprintf(path, sizeof path, "/proc/%d/environ", pg_worker_pid(w));
  int fd = open(path, O_RDONLY);
  ssize_t n = read(fd, text, sizeof text);
  assert_true(n > 0);
  close(fd);
  pg_worker_free(w);
  return memmem(text, (size_t)n, assignment, strlen(assignment)) != NULL;
}

static void a_trusted_runner_knows_the_users_libraries_and_no_secret(void **state) {
  (void)state;
  setenv("PERIGEE_PYTHON", "/opt/python", 1);
  setenv("SEED_OF_THE_JUDGE", "12345", 1);
  assert_true(worker_has("trusted", "PERIGEE_PYTHON=/opt/python"));
  assert_false(worker_has("trusted", "SEED_OF_THE_JUDGE"));
  assert_false(worker_has("trusted", "CUDA_MODULE_LOADING"));
  assert_false(worker_has("runner", "PERIGEE_PYTHON"));
  unsetenv("PERIGEE_PYTHON");
  unsetenv("SEED_OF_THE_JUDGE");
}

static void the_worker_role_cannot_be_started_by_hand(void **state) {
  (void)state;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    close(STDERR_FILENO);
    close(3);
    execl("/proc/self/exe", "perigee", "--worker", "runner", (char *)NULL);
    _exit(99);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 2);
}

/* ---- messages ---- */

static void requests_that_are_no_requests_get_an_error(void **state) {
  (void)state;
  static const char *roles[] = {"runner", "compiler"};
  for (int i = 0; i < 2; i++) {
    pg_worker *w = spawn(roles[i]);
    bad(w, "", "syntax");
    bad(w, "{\"op\":\"open\"", "syntax");
    bad(w, "{\"op\":\"open\",\"op\":\"open\"}", "syntax");
    bad(w, "{\"op\":\"\xff\"}", "syntax");
    bad(w, "\"hello\"", "syntax");
    bad(w, "[]", "invalid");
    bad(w, "{}", "invalid");
    bad(w, "{\"op\":null}", "invalid");
    bad(w, "{\"op\":\"dance\"}", "not_found");
    bad(w, "{\"op\":\"share\",\"bytes\":4096}", "invalid"); /* without a descriptor */
    good(w, "{\"op\":\"hello\"}");
    pg_worker_free(w);
  }
}

static void deep_and_long_requests_get_an_answer(void **state) {
  (void)state;
  pg_worker *w = spawn("runner");
  size_t bytes = (size_t)PG_WIRE_MAX;
  char *text = malloc(bytes + 2);
  assert_non_null(text);
  memset(text, '[', 1 << 20);
  text[1 << 20] = 0;
  bad(w, text, "syntax");
  memset(text, ' ', bytes + 1);
  text[bytes + 1] = 0;
  fails(w, text, 60, PG_RANGE, "longer than the limit");
  text[bytes] = 0;
  bad(w, text, "syntax");
  free(text);
  good(w, "{\"op\":\"hello\"}");
  pg_worker_free(w);
}

static uint64_t draw(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

/* Pieces of JSON in any order, and bytes changed at random: each gets an answer, and the worker
 * lives. */
static void malformed_json_never_ends_a_worker(void **state) {
  (void)state;
  static const char *pieces[] = {"{",
                                 "}",
                                 "[",
                                 "]",
                                 ":",
                                 ",",
                                 "\"op\"",
                                 "\"open\"",
                                 "\"buffers\"",
                                 "\"plan\"",
                                 "1",
                                 "-1",
                                 "1e999",
                                 "true",
                                 "null",
                                 "\"\\u0000\"",
                                 "\"\\ud800\"",
                                 " ",
                                 "\"",
                                 "\\",
                                 "{\"op\":\"run\",",
                                 "{\"op\":\"hello\"}",
                                 "99999999999999999999"};
  pg_worker *w = spawn_runner();
  int pid = pg_worker_pid(w), answered = 0;
  uint64_t s = 42;
  for (int round = 0; round < 4000; round++) {
    char text[512] = "";
    for (uint64_t n = 1 + draw(&s) % 12; n > 0; n--)
      strcat(text, pieces[draw(&s) % (sizeof pieces / sizeof *pieces)]);
    for (uint64_t n = draw(&s) % 3; n > 0; n--)
      text[draw(&s) % strlen(text)] = (char)(1 + draw(&s) % 255);
    char *reply = call(w, text);
    answered += strncmp(reply, "{\"ok\":", 6) == 0;
    free(reply);
  }
  assert_int_equal(answered, 4000);
  assert_int_equal(pg_worker_pid(w), pid);
  pg_worker_free(w);
}

static void two_workers_at_once_do_not_meet(void **state) {
  (void)state;
  pg_worker *a = spawn_runner(), *b = spawn_runner();
  pg_error error = {0};
  assert_int_equal(pg_worker_share(a, 4096, &error), PG_OK);
  assert_int_equal(pg_worker_share(b, 4096, &error), PG_OK);
  for (int i = 0; i < 2; i++) {
    pg_worker *w = i ? b : a;
    memset(pg_worker_memory(w, NULL), 10 + i, 64);
    good(w, "{\"op\":\"buffers\",\"sets\":1,\"buffers\":[{\"name\":\"x\",\"bytes\":64,\"role\":"
            "\"input\",\"at\":0}]}");
  }
  fails(a, RUN("crash"), 60, PG_CRASHED, "SIGSEGV");
  good(b, "{\"op\":\"read\",\"set\":0,\"buffers\":[{\"index\":0,\"at\":1024}]}");
  assert_int_equal(((uint8_t *)pg_worker_memory(b, NULL))[1024], 11);
  pg_worker_free(a);
  pg_worker_free(b);
}

static void several_workers_work_at_a_time(void **state) {
  (void)state;
  pg_worker *w[3];
  char *reply;
  pg_error error = {0};
  for (int i = 0; i < 3; i++) w[i] = spawn_runner();
  double start = pg_now();
  for (int i = 0; i < 3; i++)
    assert_int_equal(pg_worker_post(w[i], RUN("doze"), 60, &error), PG_OK);
  assert_int_equal(pg_worker_post(w[0], RUN("doze"), 60, &error), PG_INVALID);
  fails(w[1], RUN("doze"), 60, PG_INVALID, "under way");
  for (int i = 2; i >= 0; i--) {
    assert_int_equal(pg_worker_take(w[i], &reply, &error), PG_OK);
    assert_int_equal(strncmp(reply, "{\"ok\":true", 10), 0);
    free(reply);
  }
  double took = pg_now() - start;
  assert_true(took >= 0.5 && took < 1.4); /* three times 0.5 s, side by side */
  assert_int_equal(pg_worker_take(w[0], &reply, &error), PG_INVALID);
  for (int i = 0; i < 3; i++) pg_worker_free(w[i]);
}

static void a_failed_post_is_told_by_its_take(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  char *reply;
  pg_error error = {0};
  assert_int_equal(pg_worker_post(w, "{}", -1, &error), PG_RANGE);
  assert_int_equal(pg_worker_take(w, &reply, &error), PG_RANGE);
  assert_int_equal(pg_worker_take(w, &reply, &error), PG_INVALID);
  kill(pg_worker_pid(w), SIGTERM);
  pg_worker_post(w, "{}", 60, NULL); /* whether the kill is noticed here or later */
  assert_int_equal(pg_worker_take(w, &reply, &error), PG_CRASHED);
  assert_null(reply);
  assert_int_equal(pg_worker_post(w, "{}", 60, &error), PG_CRASHED);
  assert_int_equal(pg_worker_take(w, &reply, &error), PG_CRASHED);
  pg_worker_free(w);
}

static void a_reply_that_came_in_time_counts_when_it_is_taken_late(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  char *reply;
  pg_error error = {0};
  assert_int_equal(pg_worker_post(w, "{\"op\":\"load\",\"image\":\"fake\"}", 0.2, &error), PG_OK);
  nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
  assert_int_equal(pg_worker_take(w, &reply, &error), PG_OK);
  free(reply);
  assert_int_equal(pg_worker_post(w, RUN("hang"), 0.2, &error), PG_OK);
  nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL);
  assert_int_equal(pg_worker_take(w, &reply, &error), PG_TIMEOUT);
  pg_worker_free(w);
}

static void what_kernels_print_comes_with_the_reply_and_is_bounded(void **state) {
  (void)state;
  static const char print[] =
      "{\"op\":\"run\",\"set\":0,\"plan\":[{\"launch\":\"print\",\"grid\":[1],"
      "\"block\":[1],\"args\":[{\"i\":%d}]}]}";
  char request[256];
  pg_worker *w = spawn_runner();
  snprintf(request, sizeof request, print, 2);
  char *reply = call(w, request);
  assert_non_null(
      strstr(reply, "\"printed\":\"hello from the kernel\\nhello from the kernel\\n\""));
  free(reply);
  snprintf(request, sizeof request, print, 1000000);
  reply = call(w, request);
  assert_true(strlen(reply) < 1 << 16);
  assert_non_null(strstr(reply, "bytes more"));
  free(reply);
  reply = call(w, RUN("nothing"));
  assert_null(strstr(reply, "printed"));
  free(reply);
  pg_worker_free(w);
}

/* ---- deaths ---- */

static void a_request_that_hangs_ends_at_its_deadline(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  int pid = pg_worker_pid(w);
  double start = pg_now();
  fails(w, RUN("hang"), 0.3, PG_TIMEOUT, "no answer within 0.3 s and was killed");
  double took = pg_now() - start;
  assert_true(took >= 0.3 && took < 5);
  assert_false(exists(pid));
  assert_int_equal(pg_worker_pid(w), 0);
  fails(w, RUN("nothing"), 1, PG_CRASHED, "had not answered within 0.3 s");
  pg_worker_free(w);
}

static void deadlines_are_positive_numbers(void **state) {
  (void)state;
  pg_worker *w = spawn("runner");
  fails(w, "{}", 0, PG_RANGE, "positive");
  fails(w, "{}", -1, PG_RANGE, "positive");
  fails(w, "{}", (double)NAN, PG_RANGE, "positive");
  bad(w, "{}", "invalid");
  pg_worker_free(w);
}

static void a_crash_is_told_by_its_signal(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  fails(w, RUN("crash"), 60, PG_CRASHED, "was killed by signal 11 (SIGSEGV, Segmentation fault)");
  fails(w, RUN("nothing"), 60, PG_CRASHED, "signal 11");
  pg_worker_free(w);
}

static void an_exit_is_told_by_its_status(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  fails(w, RUN("quit"), 60, PG_CRASHED, "the runner process exited with status 7");
  pg_worker_free(w);
}

/* That is the kernel's for want of memory: no candidate can send it, so none is to blame. */
static void a_kill_from_outside_is_told_with_a_hint(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  char *reply;
  pg_error error = {0};
  kill(pg_worker_pid(w), SIGKILL);
  assert_int_equal(pg_worker_call(w, RUN("nothing"), 60, &reply, &error), PG_ENVIRONMENT);
  assert_non_null(strstr(error.message, "SIGKILL"));
  assert_non_null(strstr(error.hint, "memory"));
  pg_worker_free(w);
}

static bool ends_soon(int pid) {
  for (int i = 0; i < 3000; i++) {
    waitpid(pid, NULL, WNOHANG); /* a grandchild comes to us: we are the subreaper */
    if (!exists(pid)) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

static void killing_a_worker_kills_what_it_started(void **state) {
  (void)state;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setenv("PERIGEE_SANDBOX", "off", 1); /* else it could start nothing */
  pg_worker *w = spawn_runner();
  unsetenv("PERIGEE_SANDBOX");
  char *reply = call(w, RUN("breed"));
  const char *printed = strstr(reply, "\"printed\":\"");
  assert_non_null(printed);
  int pid = atoi(printed + strlen("\"printed\":\""));
  assert_true(pid > 0 && exists(pid));
  free(reply);
  pg_worker_kill(w, NULL);
  assert_true(ends_soon(pid));
  fails(w, RUN("nothing"), 1, PG_CRASHED, "was killed on request");
  pg_worker_kill(w, NULL);
  pg_worker_free(w);
}

#define EAT(mebibytes)                                                                  \
  "{\"op\":\"run\",\"set\":0,\"plan\":[{\"launch\":\"eat\",\"grid\":[1],\"block\":[1]," \
  "\"args\":[{\"i\":" #mebibytes "}]}]}"

static void a_worker_that_takes_too_much_memory_is_killed(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  assert_non_null(strstr(pg_worker_sandbox(w), "memory-watch"));
  size_t idle = pg_usage_of(pg_worker_pid(w)).memory;
  assert_in_range(idle, 1 << 12, 1 << 28);
  pg_worker_limit_memory(w, idle + (64 << 20));
  good(w, EAT(16));
  fails(w, EAT(300), 60, PG_CRASHED, "was killed: it used ");
  fails(w, RUN("nothing"), 60, PG_CRASHED, "GiB of memory, and may have ");
  pg_worker_free(w);
}

/* A judge that is killed leaves no worker behind, idle or inside a kernel that never ends. */
static void a_worker_dies_with_its_judge(void **state) {
  (void)state;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int hanging = 0; hanging < 2; hanging++) {
    int pair[2], worker_pid = 0;
    char *reply;
    assert_int_equal(pipe(pair), 0);
    pid_t judge = fork();
    if (judge == 0) {
      pg_worker *w = spawn_runner();
      worker_pid = pg_worker_pid(w);
      if (write(pair[1], &worker_pid, sizeof worker_pid) < 0) _exit(1);
      if (hanging) pg_worker_call(w, RUN("hang"), 1000, &reply, NULL);
      for (;;) pause();
    }
    assert_int_equal(read(pair[0], &worker_pid, sizeof worker_pid), sizeof worker_pid);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    assert_true(exists(worker_pid));
    kill(judge, SIGKILL);
    assert_true(ends_soon(judge));
    assert_true(ends_soon(worker_pid));
    close(pair[0]);
    close(pair[1]);
  }
}

static void a_freed_worker_leaves_no_process_and_no_descriptor(void **state) {
  (void)state;
  int before = dup(STDERR_FILENO);
  close(before);
  for (int i = 0; i < 5; i++) {
    pg_worker *w = spawn("runner");
    int pid = pg_worker_pid(w);
    assert_int_equal(pg_worker_share(w, 4096, NULL), PG_OK);
    pg_worker_free(w);
    assert_false(exists(pid));
  }
  int after = dup(STDERR_FILENO);
  close(after);
  assert_int_equal(before, after);
  pg_worker_free(NULL);
}

/* ---- shared memory ---- */

static void both_sides_see_the_memory(void **state) {
  (void)state;
  pg_worker *w = spawn_runner();
  size_t bytes;
  assert_null(pg_worker_memory(w, &bytes));
  assert_int_equal(bytes, 0);
  assert_int_equal(pg_worker_share(w, 5000, NULL), PG_OK);
  uint8_t *memory = pg_worker_memory(w, &bytes);
  assert_int_equal(bytes, 5000);
  for (int i = 0; i < 5000; i++) assert_int_equal(memory[i], 0);
  memcpy(memory, "from the judge", 15);
  good(w, "{\"op\":\"buffers\",\"sets\":1,\"buffers\":[{\"name\":\"x\",\"bytes\":15,\"role\":"
          "\"input\",\"at\":0}]}");
  good(w, "{\"op\":\"read\",\"set\":0,\"buffers\":[{\"index\":0,\"at\":4985}]}");
  assert_string_equal(memory + 4985, "from the judge");
  bad(w, "{\"op\":\"read\",\"set\":0,\"buffers\":[{\"index\":0,\"at\":4986}]}", "range");
  pg_worker_free(w);
}

static void a_retained_mapping_outlives_its_worker(void **state) {
  (void)state;
  pg_worker *w = spawn("runner");
  assert_int_equal(pg_worker_share(w, 4096, NULL), PG_OK);
  pg_shared *first = pg_shared_retain(pg_worker_shared(w));
  memset(first->data, 1, 4096);
  assert_int_equal(pg_worker_share(w, 8192, NULL), PG_OK); /* a new one */
  assert_ptr_not_equal(first, pg_worker_shared(w));
  assert_int_equal(((uint8_t *)pg_worker_memory(w, NULL))[0], 0);
  pg_worker_free(w);
  assert_int_equal(((uint8_t *)first->data)[4095], 1);
  pg_shared_release(first);
}

static void sizes_of_memory_are_checked(void **state) {
  (void)state;
  pg_worker *w = spawn("runner");
  pg_error error = {0};
  assert_int_equal(pg_worker_share(w, 0, &error), PG_RANGE);
  assert_int_equal(pg_worker_share(w, (size_t)1 << 50, &error), PG_MEMORY);
  assert_non_null(strstr(error.message, "1125899906842624 bytes"));
  assert_int_equal(pg_worker_share(w, SIZE_MAX, &error), PG_RANGE);
  assert_int_equal(pg_worker_share(w, 64, &error), PG_OK);
  kill(pg_worker_pid(w), SIGTERM);
  assert_int_equal(pg_worker_share(w, 64, &error), PG_CRASHED);
  assert_int_equal(pg_worker_share(w, 64, &error), PG_CRASHED);
  pg_worker_free(w);
}

/* ---- compiling ---- */

static void compile_requests_are_checked(void **state) {
  (void)state;
  pg_worker *w = spawn("compiler");
  bad(w, "{\"op\":\"compile\"}", "invalid");
  bad(w, "{\"op\":\"compile\",\"source\":1}", "invalid");
  bad(w, "{\"op\":\"compile\",\"source\":\"\",\"lang\":\"fortran\"}", "unsupported");
  bad(w, "{\"op\":\"compile\",\"source\":\"\",\"options\":[1]}", "invalid");
  bad(w, "{\"op\":\"compile\",\"source\":\"\",\"options\":\"-O3\"}", "invalid");
  bad(w, "{\"op\":\"compile\",\"source\":\"\",\"cache\":1}", "invalid");
  bad(w, "{\"op\":\"run\"}", "not_found");
  pg_worker_free(w);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--worker") == 0)
    return pg_child_main(argc, argv, fake_open, NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_worker_starts_fast_and_says_what_it_may_not),
      cmocka_unit_test(an_unknown_role_is_refused),
      cmocka_unit_test(the_restrictions_hold),
      cmocka_unit_test(secrets_in_the_environment_and_descriptors_stay_behind),
      cmocka_unit_test(a_trusted_runner_knows_the_users_libraries_and_no_secret),
      cmocka_unit_test(the_worker_role_cannot_be_started_by_hand),
      cmocka_unit_test(requests_that_are_no_requests_get_an_error),
      cmocka_unit_test(deep_and_long_requests_get_an_answer),
      cmocka_unit_test(malformed_json_never_ends_a_worker),
      cmocka_unit_test(two_workers_at_once_do_not_meet),
      cmocka_unit_test(several_workers_work_at_a_time),
      cmocka_unit_test(a_failed_post_is_told_by_its_take),
      cmocka_unit_test(a_reply_that_came_in_time_counts_when_it_is_taken_late),
      cmocka_unit_test(what_kernels_print_comes_with_the_reply_and_is_bounded),
      cmocka_unit_test(a_request_that_hangs_ends_at_its_deadline),
      cmocka_unit_test(deadlines_are_positive_numbers),
      cmocka_unit_test(a_crash_is_told_by_its_signal),
      cmocka_unit_test(an_exit_is_told_by_its_status),
      cmocka_unit_test(a_kill_from_outside_is_told_with_a_hint),
      cmocka_unit_test(killing_a_worker_kills_what_it_started),
      cmocka_unit_test(a_worker_that_takes_too_much_memory_is_killed),
      cmocka_unit_test(a_worker_dies_with_its_judge),
      cmocka_unit_test(a_freed_worker_leaves_no_process_and_no_descriptor),
      cmocka_unit_test(both_sides_see_the_memory),
      cmocka_unit_test(a_retained_mapping_outlives_its_worker),
      cmocka_unit_test(sizes_of_memory_are_checked),
      cmocka_unit_test(compile_requests_are_checked),
  };
  return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
