/* What a confined process may not do, each tried in a child that is confined as a worker is, and
 * what it must still be able to do. A restriction that this kernel lacks is not tested, but said.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "judge/confine.h"
#include "judge/seccomp.h"

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* ---- a child that is confined ---- */

enum { RUNNER, SIMULATOR, COMPILER, PROGRAM, KINDS };
static const char *const kind_names[KINDS] = {"runner", "simulator", "compiler", "program"};

static char place[] = "/tmp/test_sandbox.XXXXXX"; /* holds inside/ and secret */
static char inside[64], secret[64];
static pid_t judge; /* this process, as the child sees it */

static void confine(int kind, char names[PG_SANDBOX_MAX]) {
  const char *folders[] = {inside};
  const char *toolchain[] = {NULL};
  pg_landlock prepared;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  names[0] = 0;
  if (kind == COMPILER) {
    pg_confine_compiler(&(pg_compile_reach){folders, 1, NULL}, names);
  } else if (kind == PROGRAM) {
    pg_confine_prepare_program(toolchain, inside, &prepared);
    pg_confine_program(&prepared, names);
  } else {
    pg_confine_runner(kind == SIMULATOR, names);
  }
}

/* What `attempt` returns in a confined child: 0 for success, else an errno. */
static int outcome(int kind, int (*attempt)(void)) {
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    char names[PG_SANDBOX_MAX];
    confine(kind, names);
    _exit(attempt());
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (WIFSIGNALED(status)) return 1000 + WTERMSIG(status);
  return WEXITSTATUS(status);
}

/* The names that a child of this kind obtains, by a pipe. */
static void names_of(int kind, char names[PG_SANDBOX_MAX]) {
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    confine(kind, names);
    _exit(write(ends[1], names, strlen(names) + 1) < 0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(read(ends[0], names, PG_SANDBOX_MAX) > 0);
  close(ends[0]);
  close(ends[1]);
}

static bool holds(int kind, const char *name) {
  char names[PG_SANDBOX_MAX];
  names_of(kind, names);
  return strstr(names, name) != NULL;
}

static int result(long value) {
  return value < 0 ? errno : 0;
}

static int try_open(const char *path, int flags) {
  int fd = open(path, flags | O_CLOEXEC, 0600);
  return fd < 0 ? errno : (close(fd), 0);
}

/* ---- files ---- */

static int read_secret(void) {
  return try_open(secret, O_RDONLY);
}

static int read_password_file(void) {
  return try_open("/etc/passwd", O_RDONLY);
}

static int list_root(void) {
  return try_open("/", O_RDONLY | O_DIRECTORY);
}

static int write_secret(void) {
  return try_open(secret, O_WRONLY);
}

static int make_file(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/new", place);
  return try_open(path, O_WRONLY | O_CREAT);
}

static int make_shared_memory(void) {
  return try_open("/dev/shm/perigee-test", O_RDWR | O_CREAT);
}

static int remove_secret(void) {
  return result(unlink(secret));
}

static int rename_secret(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/other", place);
  return result(rename(secret, path));
}

static int read_judge_memory(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", (int)judge);
  return try_open(path, O_RDONLY);
}

static int read_judge_environment(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)judge);
  return try_open(path, O_RDONLY);
}

static int (*const file_attempts[])(void) = {
    read_secret,       read_password_file,     list_root,     write_secret,
    make_file,         remove_secret,          rename_secret, make_shared_memory,
    read_judge_memory, read_judge_environment,
};

static void no_file_but_its_own_is_in_reach(void **state) {
  (void)state;
  if (pg_landlock_abi() == 0) skip();
  for (int kind = 0; kind < KINDS; kind++)
    for (size_t i = 0; i < sizeof file_attempts / sizeof *file_attempts; i++) {
      int e = outcome(kind, file_attempts[i]);
      if (e != EACCES) fail_msg("%s, attempt %zu: %s", kind_names[kind], i, strerror(e));
    }
  assert_int_equal(read_secret(), 0); /* each could be done unconfined, and nothing was done */
  assert_int_equal(read_judge_environment(), 0);
}

/* ---- calls ---- */

static int raw(long number) {
  return result(syscall(number, -1L, 0L, 0L, 0L, 0L, 0L));
}

static int open_socket(void) {
  return result(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_local_socket(void) {
  return result(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int connect_anywhere(void) {
  return raw(SYS_connect);
}

static int trace_judge(void) {
  return result(ptrace(PTRACE_ATTACH, judge, NULL, NULL));
}

static int read_judge(void) {
  char byte;
  struct iovec here = {&byte, 1}, there = {&judge, 1};
  return result(process_vm_readv(judge, &here, 1, &there, 1, 0));
}

static int kill_judge(void) {
  return result(kill(judge, 0));
}

static int kill_everybody(void) {
  return result(kill(-1, 0));
}

static int leave_group(void) {
  return result(setpgid(0, 0));
}

static int leave_session(void) {
  return result(setsid());
}

static int outlive_judge(void) {
  return result(prctl(PR_SET_PDEATHSIG, 0));
}

static int new_namespace(void) {
  return result(unshare(CLONE_NEWUSER));
}

static int change_mode(void) {
  return result(chmod(inside, 0777));
}

/* Landlock leaves times and attributes of files to who owns them, wherever they are. */
static int change_times(void) {
  return result(utimensat(AT_FDCWD, secret, NULL, 0));
}

static int change_attributes(void) {
  return result(setxattr(secret, "user.note", "x", 1, 0));
}

static int change_attributes_anew(void) {
  return raw(463); /* setxattrat */
}

static int change_flags(void) {
  return raw(469); /* file_setattr */
}

static int raise_limit(void) {
  struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
  return result(prlimit(0, RLIMIT_CORE, &any, NULL));
}

/* The judge is this process's parent: pinned, put behind or made urgent it would hand that on. */
static int pin_judge(void) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  return result(sched_setaffinity(judge, sizeof cpus, &cpus));
}

static int reschedule_judge(void) {
  const struct sched_param any = {0};
  return result(sched_setscheduler(judge, SCHED_BATCH, &any));
}

static int reschedule_judge_by_attributes(void) {
  uint64_t attributes[6] = {sizeof attributes};
  return result(syscall(SYS_sched_setattr, judge, attributes, 0));
}

static int slow_judge(void) {
  return result(setpriority(PRIO_PROCESS, (id_t)judge, 19));
}

static int slow_user(void) {
  return result(setpriority(PRIO_USER, 0, 19));
}

static int delay_judge(void) {
  return result(syscall(SYS_ioprio_set, 1, judge, 3 << 13));
}

static int move_judge(void) {
  return result(syscall(SYS_move_pages, judge, 0, NULL, NULL, NULL, 0));
}

static int own_descriptor_by(int (*give)(int fd)) {
  int ends[2];
  if (pipe(ends) < 0) return errno;
  return result(give(ends[0]));
}

static int give_to_judge(int fd) {
  return fcntl(fd, F_SETOWN, judge);
}

static int give_to_judge_anew(int fd) {
  const struct f_owner_ex owner = {F_OWNER_PID, judge};
  return fcntl(fd, F_SETOWN_EX, &owner);
}

static int signal_by_descriptor(void) {
  return own_descriptor_by(give_to_judge);
}

static int signal_by_descriptor_anew(void) {
  return own_descriptor_by(give_to_judge_anew);
}

static int mount_it(void) {
  return raw(SYS_mount);
}

static int load_bpf(void) {
  return raw(SYS_bpf);
}

static int open_events(void) {
  return raw(SYS_perf_event_open);
}

static int fault_in_user_space(void) {
  return raw(SYS_userfaultfd);
}

static int use_keys(void) {
  return raw(SYS_keyctl);
}

static int use_ring(void) {
  return raw(425); /* io_uring_setup */
}

static int share_memory_for_good(void) {
  return raw(SYS_shmget);
}

static int (*const call_attempts[])(void) = {
    open_socket,
    open_local_socket,
    connect_anywhere,
    trace_judge,
    read_judge,
    kill_judge,
    kill_everybody,
    leave_group,
    leave_session,
    outlive_judge,
    new_namespace,
    change_mode,
    change_times,
    change_attributes,
    change_attributes_anew,
    change_flags,
    raise_limit,
    mount_it,
    load_bpf,
    open_events,
    fault_in_user_space,
    use_keys,
    use_ring,
    share_memory_for_good,
    pin_judge,
    reschedule_judge,
    reschedule_judge_by_attributes,
    slow_judge,
    slow_user,
    delay_judge,
    move_judge,
    signal_by_descriptor,
    signal_by_descriptor_anew,
};

static void no_call_reaches_other_processes_the_network_or_the_kernel(void **state) {
  (void)state;
  if (!holds(RUNNER, "seccomp")) skip();
  for (int kind = 0; kind < KINDS; kind++)
    for (size_t i = 0; i < sizeof call_attempts / sizeof *call_attempts; i++) {
      if (SANITIZED && call_attempts[i] == trace_judge) continue; /* its search for leaks traces */
      if (kind == PROGRAM && call_attempts[i] == kill_everybody) continue; /* that is only itself */
      int e = outcome(kind, call_attempts[i]);
      if (e != EPERM) fail_msg("%s, attempt %zu: %s", kind_names[kind], i, strerror(e));
    }
}

static int run_program(void) {
  char *argv[] = {(char *)"true", NULL}, *none[] = {NULL};
  execve("/bin/true", argv, none);
  return errno;
}

static int run_in_child(void) {
  int status;
  pid_t pid = fork();
  if (pid == 0) _exit(run_program());
  if (pid < 0) return errno;
  return waitpid(pid, &status, 0) < 0 ? errno : WEXITSTATUS(status);
}

static void only_a_compiler_that_is_a_program_starts_others(void **state) {
  (void)state;
  if (!holds(RUNNER, "seccomp")) skip();
  for (int kind = 0; kind < PROGRAM; kind++) {
    assert_int_equal(outcome(kind, run_program), EPERM);
    if (!SANITIZED) assert_int_equal(outcome(kind, run_in_child), EPERM);
  }
  assert_int_equal(outcome(PROGRAM, run_in_child), 0);
}

#ifdef __x86_64__
/* getpid() by the numbers of 32-bit programs. */
static int other_architecture(void) {
  long value = 20;
  __asm__ volatile("int $0x80" : "+a"(value) : : "memory");
  return 0;
}

static int third_architecture(void) {
  return result(syscall(0x40000000L | SYS_getpid));
}

static void calls_of_other_architectures_do_not_pass(void **state) {
  (void)state;
  if (!holds(RUNNER, "seccomp")) skip();
  int e = outcome(RUNNER, other_architecture);
  assert_true(e == 1000 + SIGSYS || e == 1000 + SIGSEGV); /* killed, or this kernel has none */
  assert_int_equal(outcome(RUNNER, third_architecture), 1000 + SIGSYS);
}
#endif

/* ---- sockets without a file ---- */

static struct sockaddr_un address;
static socklen_t address_bytes;
static int made_before; /* a socket from before the restrictions */

static int reach_listener(void) {
  return result(connect(made_before, (struct sockaddr *)&address, address_bytes));
}

/* By Landlock alone: a program whose calls are not filtered. */
static int reach_listener_unfiltered(void) {
  pg_landlock l;
  char names[PG_SANDBOX_MAX] = "";
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  pg_landlock_begin(&l);
  if (!pg_landlock_enforce(&l, names)) return -1;
  return reach_listener();
}

static void sockets_without_a_file_are_out_of_reach(void **state) {
  (void)state;
  if (!holds(RUNNER, "landlock-scope")) skip();
  int status, listener = socket(AF_UNIX, SOCK_STREAM, 0);
  address.sun_family = AF_UNIX;
  address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                              (size_t)snprintf(address.sun_path + 1, 64, "perigee-%d", getpid()));
  assert_int_equal(bind(listener, (struct sockaddr *)&address, address_bytes), 0);
  assert_int_equal(listen(listener, 1), 0);
  made_before = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(outcome(RUNNER, reach_listener), EPERM);
  pid_t pid = fork();
  if (pid == 0) _exit(reach_listener_unfiltered());
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WEXITSTATUS(status), EPERM);
  close(made_before);
  close(listener);
}

/* A program on a kernel whose Landlock does not scope signals: 0 when each way out is denied. */
static int signal_parent_unscoped(void) {
  pid_t parent = getppid();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!pg_seccomp_enforce(PG_SECCOMP_PROGRAMS, false)) return -1;
  bool sent = kill(parent, 0) == 0 || syscall(SYS_tkill, parent, 0) == 0 ||
              syscall(SYS_tgkill, parent, parent, 0) == 0;
  return sent ? 1 : 0;
}

static void no_signal_leaves_a_program_that_landlock_does_not_scope(void **state) {
  (void)state;
  if (!holds(PROGRAM, "seccomp")) skip();
  int status;
  pid_t pid = fork();
  if (pid == 0) _exit(signal_parent_unscoped());
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- what works ---- */

static void *add_one(void *number) {
  ++*(int *)number;
  return number;
}

static int start_thread(void) {
  pthread_t thread;
  int number = 0, e = pthread_create(&thread, NULL, add_one, &number);
  if (!e) e = pthread_join(thread, NULL);
  return e ? e : number != 1;
}

static int end_itself(void) {
  raise(SIGKILL);
  return 0;
}

static int take_memory(void) {
  char *bytes = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? errno : 0;
}

static int take_unmapped_memory(void) {
  int fd = memfd_create("perigee", MFD_CLOEXEC);
  return fd < 0 || ftruncate(fd, 4096) < 0 ? errno : 0;
}

static int share_memory(void) {
  char *bytes = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return bytes == MAP_FAILED ? errno : 0;
}

/* Pages that no process has mapped are in no count: 256 MB a file, a thousand files a process. */
static void a_program_has_no_memory_that_is_not_seen(void **state) {
  (void)state;
  if (!holds(PROGRAM, "seccomp")) skip();
  assert_int_equal(outcome(PROGRAM, take_unmapped_memory), EPERM);
  assert_int_equal(outcome(PROGRAM, share_memory), EPERM);
  for (int kind = 0; kind < PROGRAM; kind++) {
    assert_int_equal(outcome(kind, take_unmapped_memory), 0);
    assert_int_equal(outcome(kind, share_memory), 0);
  }
}

static int schedule_itself(void) {
  cpu_set_t cpus;
  int e = result(sched_getaffinity(0, sizeof cpus, &cpus));
  if (!e) e = result(sched_setaffinity(0, sizeof cpus, &cpus));
  return e ? e : result(setpriority(PRIO_PROCESS, 0, 1));
}

static int use_nothing_device(void) {
  int e = try_open("/dev/null", O_RDWR);
  return e ? e : try_open("/dev/urandom", O_RDONLY);
}

static int look_at_itself(void) {
  int e = try_open("/proc/self/status", O_RDONLY);
  return e ? e : try_open("/proc/meminfo", O_RDONLY);
}

static int talk_to_itself(void) {
  int ends[2];
  char byte = 'x';
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) return errno;
  return send(ends[0], &byte, 1, 0) == 1 && recv(ends[1], &byte, 1, 0) == 1 ? 0 : errno;
}

static void what_a_worker_needs_still_works(void **state) {
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    assert_int_equal(outcome(kind, start_thread), 0);
    assert_int_equal(outcome(kind, take_memory), 0);
    assert_int_equal(outcome(kind, schedule_itself), 0);
    assert_int_equal(outcome(kind, use_nothing_device), 0);
    assert_int_equal(outcome(kind, look_at_itself), 0);
    assert_int_equal(outcome(kind, talk_to_itself), 0);
    assert_int_equal(outcome(kind, end_itself), 1000 + SIGKILL);
  }
}

static int write_inside(void) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/out", inside);
  int e = try_open(path, O_RDWR | O_CREAT);
  return e ? e : result(unlink(path));
}

static int read_inside(void) {
  return try_open(inside, O_RDONLY | O_DIRECTORY);
}

static void a_compiler_reads_its_headers_and_a_program_writes_its_folder(void **state) {
  (void)state;
  assert_int_equal(outcome(COMPILER, read_inside), 0);
  assert_int_equal(outcome(PROGRAM, write_inside), 0);
  if (pg_landlock_abi() == 0) skip();
  assert_int_equal(outcome(COMPILER, write_inside), EACCES);
  assert_int_equal(outcome(RUNNER, read_inside), EACCES);
}

/* A cache that is added to cannot be read: another candidate's PTX would be one #include away. */
static int add_and_read(void) {
  char path[PATH_MAX], names[PG_SANDBOX_MAX] = "";
  pg_confine_compiler(&(pg_compile_reach){NULL, 0, inside}, names);
  snprintf(path, sizeof path, "%s/entry", inside);
  int e = try_open(path, O_WRONLY | O_CREAT | O_EXCL);
  return e ? e : try_open(path, O_RDONLY);
}

static void a_cache_is_added_to_but_not_read(void **state) {
  (void)state;
  char path[PATH_MAX];
  int status;
  if (pg_landlock_abi() == 0) skip();
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    _exit(add_and_read());
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(WEXITSTATUS(status), EACCES);
  snprintf(path, sizeof path, "%s/entry", inside);
  assert_int_equal(unlink(path), 0); /* it is there */
}

/* ---- what is said of it ---- */

static int has_capability(void) {
  char text[4096], *line;
  int fd = open("/proc/self/status", O_RDONLY);
  ssize_t n = read(fd, text, sizeof text - 1);
  text[n > 0 ? n : 0] = 0;
  line = strstr(text, "CapEff:");
  return !line || strtoull(line + 7, NULL, 16) != 0;
}

static void a_name_stands_for_what_holds(void **state) {
  (void)state;
  char names[PG_SANDBOX_MAX];
  for (int kind = 0; kind < KINDS; kind++) {
    names_of(kind, names);
    print_message("%s: %s\n", kind_names[kind], names);
    assert_int_equal(strstr(names, "landlock") != NULL, pg_landlock_abi() > 0);
    assert_int_equal(strstr(names, "landlock-scope") != NULL, pg_landlock_abi() >= 6);
    assert_non_null(strstr(names, "no-capabilities"));
    assert_int_equal(outcome(kind, has_capability), 0);
  }
}

static void it_can_be_switched_off(void **state) {
  (void)state;
  char names[PG_SANDBOX_MAX];
  setenv("PERIGEE_SANDBOX", "off", 1);
  names_of(RUNNER, names);
  int e = outcome(RUNNER, read_secret);
  unsetenv("PERIGEE_SANDBOX");
  assert_string_equal(names, "");
  assert_int_equal(e, 0);
}

/* A thread that runs already would not be bound, so then nothing is promised. */
static void *confine_here(void *names) {
  confine(RUNNER, names);
  return NULL;
}

static void several_threads_are_no_sandbox(void **state) {
  (void)state;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    char names[PG_SANDBOX_MAX];
    pthread_t thread;
    pthread_create(&thread, NULL, confine_here, names);
    pthread_join(thread, NULL);
    _exit(strstr(names, "landlock") != NULL);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

/* ---- a place for all of them ---- */

static int set_up(void **state) {
  (void)state;
  judge = getpid();
  unsetenv("PERIGEE_SANDBOX");
  if (!mkdtemp(place)) return -1;
  snprintf(inside, sizeof inside, "%s/inside", place);
  snprintf(secret, sizeof secret, "%s/secret", place);
  return mkdir(inside, 0700) || try_open(secret, O_WRONLY | O_CREAT);
}

static int tear_down(void **state) {
  (void)state;
  return unlink(secret) || rmdir(inside) || rmdir(place);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_file_but_its_own_is_in_reach),
      cmocka_unit_test(no_call_reaches_other_processes_the_network_or_the_kernel),
      cmocka_unit_test(only_a_compiler_that_is_a_program_starts_others),
#ifdef __x86_64__
      cmocka_unit_test(calls_of_other_architectures_do_not_pass),
#endif
      cmocka_unit_test(sockets_without_a_file_are_out_of_reach),
      cmocka_unit_test(no_signal_leaves_a_program_that_landlock_does_not_scope),
      cmocka_unit_test(what_a_worker_needs_still_works),
      cmocka_unit_test(a_program_has_no_memory_that_is_not_seen),
      cmocka_unit_test(a_compiler_reads_its_headers_and_a_program_writes_its_folder),
      cmocka_unit_test(a_cache_is_added_to_but_not_read),
      cmocka_unit_test(a_name_stands_for_what_holds),
      cmocka_unit_test(it_can_be_switched_off),
      cmocka_unit_test(several_threads_are_no_sandbox),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
