/* What an agent's command may reach, each tried in a child that is bound as one is, and that
 * nothing outlives it. What this kernel cannot bind is not tested, but said. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "judge/attend.h"
#include "judge/confine.h"
#include "judge/remove.h"

static char place[] = "/tmp/test_attend.XXXXXX"; /* holds own/, mixed/kept/, beside/, store */
static char own[64], mixed[64], kept[64], beside[64], secret[64];
static pid_t judge;

/* ---- reach ---- */

static int outcome(int (*attempt)(void)) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    const char *writes[] = {own, mixed, NULL}, *closed[] = {kept, NULL}, *hidden[] = {secret, NULL};
    _exit(pg_confine_agent(writes, closed, hidden) ? attempt() : 255);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int result(long value) {
  return value < 0 ? errno : 0;
}

static int make_in(const char *folder) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/new", folder);
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return fd < 0 ? errno : (close(fd), result(unlink(path)));
}

static int read_store(void) {
  return result(open(secret, O_RDONLY | O_CLOEXEC));
}

static int write_store(void) {
  return result(open(secret, O_WRONLY | O_CLOEXEC));
}

static int empty_store(void) {
  return result(truncate(secret, 0));
}

static int remove_store(void) {
  return result(unlink(secret));
}

static int move_store_away(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/moved", place);
  return result(rename(secret, path));
}

static int make_beside(void) {
  return make_in(beside);
}

static int make_in_kept(void) {
  return make_in(kept);
}

static int read_judge_memory(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", (int)judge);
  return result(open(path, O_RDONLY | O_CLOEXEC));
}

static int trace_judge(void) {
  return result(ptrace(PTRACE_ATTACH, judge, NULL, NULL));
}

static int signal_judge(void) {
  return result(kill(judge, 0));
}

static void the_store_the_judge_and_the_rest_are_out_of_reach(void **state) {
  (void)state;
  static int (*const attempts[])(void) = {
      read_store,  write_store,  empty_store,       remove_store, move_store_away,
      make_beside, make_in_kept, read_judge_memory, trace_judge,
  };
  if (pg_landlock_abi() == 0) skip();
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
    int e = outcome(attempts[i]);
    if (e != EACCES && e != EPERM) fail_msg("attempt %zu: %s", i, strerror(e));
  }
  if (pg_landlock_abi() >= 6) assert_int_equal(outcome(signal_judge), EPERM);
  assert_int_equal(signal_judge() | read_store() | make_beside() | make_in_kept(), 0); /* free */
}

static int make_in_own(void) {
  return make_in(own);
}

static int make_own_socket(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", own);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  int e = result(bind(fd, (struct sockaddr *)&address, sizeof address));
  return e ? e : result(unlink(address.sun_path));
}

static int list_root(void) {
  return result(open("/", O_RDONLY | O_DIRECTORY));
}

static int read_password_file(void) {
  return result(open("/etc/passwd", O_RDONLY));
}

static int start_program(void) {
  execl("/bin/sh", "sh", "-c", "true >/dev/null", (char *)NULL);
  return errno;
}

static int open_socket(void) {
  return result(socket(AF_INET, SOCK_STREAM, 0));
}

static void what_a_program_of_a_user_needs_still_works(void **state) {
  (void)state;
  if (pg_landlock_abi() == 0) skip();
  assert_int_equal(outcome(make_in_own), 0);
  assert_int_equal(outcome(make_own_socket), 0);
  assert_int_equal(outcome(list_root), 0);
  assert_int_equal(outcome(read_password_file), 0);
  assert_int_equal(outcome(start_program), 0);
  assert_int_equal(outcome(open_socket), 0);
}

/* ---- to its end ---- */

/* Runs a command in a process of its own, as it must be, and hands back what it wrote. */
static pg_attended attended(const char *command, double seconds, char text[256]) {
  char folder[PATH_MAX];
  int ends[2], status;
  pg_attended out = {0};
  snprintf(folder, sizeof folder, "%s/agent", place);
  const char *const writes[] = {folder, NULL}, *const none[] = {NULL};
  pg_attend how = {.command = command,
                   .input = "in",
                   .input_bytes = 2,
                   .seconds = seconds,
                   .output_most = 200,
                   .memory_most = SIZE_MAX,
                   .folder = folder,
                   .writes = writes,
                   .kept = none,
                   .hidden = none,
                   .server = none};
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    if (pg_attend_run(&how, &out, NULL)) _exit(1);
    _exit(write(ends[1], &out, sizeof out) < 0 || write(ends[1], out.output, out.output_bytes) < 0);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &out, sizeof out), sizeof out);
  ssize_t n = read(ends[0], text, 255);
  text[n > 0 ? n : 0] = 0;
  close(ends[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_not_equal(access(folder, F_OK), 0); /* it goes with it */
  return out;
}

/* Whether the command has ended when its last bytes are read is chance. */
static void what_was_cut_is_never_taken_for_whole(void **state) {
  (void)state;
  char text[256];
  for (int i = 0; i < 20; i++) {
    pg_attended out = attended("printf '%201s'", 20, text);
    assert_int_equal(out.end, PG_ENDED_OUTPUT);
    assert_int_equal(out.output_bytes, 200);
  }
}

static void how_it_ended_is_told(void **state) {
  (void)state;
  char text[256];
  pg_attended out = attended("cat; echo \" $TMPDIR\"; exit 5", 20, text);
  assert_int_equal(out.end, PG_ENDED);
  assert_int_equal(out.code, 5);
  assert_memory_equal(text, "in /tmp/test_attend.", 20);
  out = attended("kill -TERM $$", 20, text);
  assert_int_equal(out.end, PG_ENDED_SIGNAL);
  assert_int_equal(out.code, SIGTERM);
  assert_int_equal(attended("echo some; exec sleep 1000", 2, text).end, PG_ENDED_TIME);
  assert_string_equal(text, "some\n");
  out = attended("yes", 20, text);
  assert_int_equal(out.end, PG_ENDED_OUTPUT);
  assert_int_equal(out.output_bytes, 200);
}

/* The other end of a pipe that a process holds has its end once no process holds it. */
static void nothing_outlives_it(void **state) {
  (void)state;
  char text[256], byte;
  int held[2];
  assert_int_equal(pipe(held), 0); /* not closed by exec: all that are started hold it */
  attended(
      "(sleep 100 & setsid sleep 100 & (setsid setsid sleep 100 &)) >/dev/null 2>&1; echo done", 20,
      text);
  assert_string_equal(text, "done\n");
  close(held[1]);
  assert_int_equal(poll(&(struct pollfd){.fd = held[0], .events = POLLIN}, 1, 5000), 1);
  assert_int_equal(read(held[0], &byte, 1), 0);
  close(held[0]);
}

/* ---- a place for all of them ---- */

static int set_up(void **state) {
  (void)state;
  judge = getpid();
  unsetenv("PERIGEE_SANDBOX");
  if (!mkdtemp(place)) return -1;
  snprintf(own, sizeof own, "%s/own", place);
  snprintf(mixed, sizeof mixed, "%s/mixed", place);
  snprintf(kept, sizeof kept, "%s/mixed/kept", place);
  snprintf(beside, sizeof beside, "%s/beside", place);
  snprintf(secret, sizeof secret, "%s/store", place);
  int fd = open(secret, O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return -1;
  close(fd);
  return mkdir(own, 0700) || mkdir(mixed, 0700) || mkdir(kept, 0700) || mkdir(beside, 0700);
}

static int tear_down(void **state) {
  (void)state;
  return pg_remove_folder(place) ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_store_the_judge_and_the_rest_are_out_of_reach),
      cmocka_unit_test(what_a_program_of_a_user_needs_still_works),
      cmocka_unit_test(how_it_ended_is_told),
      cmocka_unit_test(what_was_cut_is_never_taken_for_whole),
      cmocka_unit_test(nothing_outlives_it),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
