/* One loop over a pipe, a signalfd and a listening socket. Orphans of the command come here, as
 * this process is their subreaper, so whatever leaves its session and its parent is found all the
 * same. */
#include "attend.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../channel.h"
#include "../home.h"
#include "../now.h"
#include "confine.h"
#include "remove.h"
#include "watch.h"

enum { CHUNK = 64 << 10, LOOK_MS = 200, SERVERS_MOST = 16 };

typedef struct attendance {
  const pg_attend *how;
  pg_attended *out;
  size_t room; /* bytes of out->output */
  char binary[PG_PATH_MAX];
  sigset_t usual;              /* signals that the children block */
  pid_t pid;                   /* of the command; 0 once it has ended */
  pid_t servers[SERVERS_MOST]; /* 0 where there is none */
  int input, output[2], signals, door;
} attendance;

bool pg_attend_binds(void) {
  return pg_confine_wanted() && pg_landlock_abi() > 0;
}

/* ---- what runs beside this process ---- */

/* Between fork and exec. The death signal outlives exec. */
static bool settle(const attendance *a, pid_t parent, int in, int out) {
  sigprocmask(SIG_SETMASK, &a->usual, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && dup2(in, 0) >= 0 &&
         dup2(out, 1) >= 0;
}

static _Noreturn void become_command(const attendance *a, pid_t parent) {
  const pg_attend *how = a->how;
  setsid();
  setenv("TMPDIR", how->folder, 1);
  if (settle(a, parent, a->input, a->output[1]) &&
      (!pg_attend_binds() || pg_confine_agent(how->writes, how->kept, how->hidden)))
    execl("/bin/sh", "sh", "-c", how->command, (char *)NULL);
  _exit(127);
}

static _Noreturn void become_server(const attendance *a, pid_t parent, int socket) {
  const char *argv[PG_ATTEND_MOST + 2] = {"perigee"};
  for (int i = 0; a->how->server[i]; i++) argv[i + 1] = a->how->server[i];
  if (settle(a, parent, socket, socket)) execv(a->binary, (char *const *)(uintptr_t)argv);
  _exit(127);
}

/* Where a server is, or none: 0. NULL when that is nowhere. */
static pid_t *place_of(attendance *a, pid_t pid) {
  for (int i = 0; i < SERVERS_MOST; i++)
    if (a->servers[i] == pid) return &a->servers[i];
  return NULL;
}

/* Called when there is a place; further clients wait. */
static void answer_door(attendance *a) {
  int socket = accept4(a->door, NULL, NULL, SOCK_CLOEXEC);
  pid_t parent = getpid();
  if (socket < 0) return;
  pid_t pid = fork();
  if (pid == 0) become_server(a, parent, socket);
  if (pid > 0) *place_of(a, 0) = pid;
  close(socket);
}

/* ---- before ---- */

static pg_code open_door(attendance *a, pg_error *error) {
  if (!a->how->door) return PG_OK;
  a->door = pg_channel_listen(a->how->door);
  if (a->door >= 0) return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "cannot make a socket: %s", strerror(errno));
  return pg_where(error, "%s", a->how->door);
}

static bool write_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t put = write(fd, bytes, count);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes += put;
    count -= (size_t)put;
  }
  return lseek(fd, 0, SEEK_SET) == 0;
}

static pg_code open_streams(attendance *a, pg_error *error) {
  sigset_t heard;
  a->input = memfd_create("request", MFD_CLOEXEC);
  sigemptyset(&heard);
  sigaddset(&heard, SIGCHLD);
  sigaddset(&heard, SIGTERM);
  sigprocmask(SIG_BLOCK, &heard, &a->usual);
  a->signals = signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
  if (a->input >= 0 && a->signals >= 0 && pipe2(a->output, O_CLOEXEC) == 0 &&
      fcntl(a->output[0], F_SETFL, O_NONBLOCK) == 0 &&
      write_all(a->input, a->how->input, a->how->input_bytes))
    return PG_OK;
  return pg_fail(error, PG_ENVIRONMENT, "cannot make the streams of a command: %s",
                 strerror(errno));
}

static pg_code start(attendance *a, pg_error *error) {
  pid_t parent = getpid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  a->pid = fork();
  if (a->pid == 0) become_command(a, parent);
  if (a->pid < 0) {
    a->pid = 0;
    return pg_fail(error, PG_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
  }
  close(a->output[1]);
  a->output[1] = -1;
  return PG_OK;
}

/* ---- meanwhile ---- */

static bool grow(attendance *a) {
  char *more = realloc(a->out->output, a->room + CHUNK);
  if (!more) return false;
  a->out->output = more;
  a->room += CHUNK;
  return true;
}

/* The command may have ended by itself: 0 is no process of its own. */
static void end(attendance *a, pg_attend_end why) {
  a->out->end = why;
  if (a->pid) kill(a->pid, SIGKILL);
  a->pid = 0;
}

/* What was written by now; false at its end. */
static bool take_output(attendance *a) {
  for (;;) {
    pg_attended *out = a->out;
    if (out->output_bytes == a->room && !grow(a)) return false;
    ssize_t got = read(a->output[0], out->output + out->output_bytes, a->room - out->output_bytes);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    out->output_bytes += (size_t)got;
    if (out->output_bytes <= a->how->output_most) continue;
    out->output_bytes = a->how->output_most;
    end(a, PG_ENDED_OUTPUT);
    return false;
  }
}

static void reap(attendance *a) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    pid_t *server = place_of(a, pid);
    if (server) *server = 0;
    if (pid != a->pid) continue;
    a->pid = 0;
    a->out->end = WIFEXITED(status) ? PG_ENDED : PG_ENDED_SIGNAL;
    a->out->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }
}

/* Whoever asked for all this has gone. */
static _Noreturn void give_up(const attendance *a) {
  pg_family_end();
  pg_remove_folder(a->how->folder);
  _exit(1);
}

static void take_signals(attendance *a) {
  struct signalfd_siginfo info;
  while (read(a->signals, &info, sizeof info) == (ssize_t)sizeof info)
    if (info.ssi_signo == SIGTERM) give_up(a);
  reap(a);
}

static void look(attendance *a, double deadline) {
  pg_usage used = pg_usage_of(getpid());
  if (a->pid && pg_now() >= deadline) end(a, PG_ENDED_TIME);
  if (a->pid && used.memory + used.shared > a->how->memory_most) end(a, PG_ENDED_MEMORY);
}

static void attend(attendance *a) {
  double deadline = pg_now() + a->how->seconds, looked = pg_now();
  bool talks = true;
  while (a->pid) {
    struct pollfd fds[] = {{.fd = a->signals, .events = POLLIN},
                           {.fd = talks ? a->output[0] : -1, .events = POLLIN},
                           {.fd = place_of(a, 0) ? a->door : -1, .events = POLLIN}};
    double left = deadline - pg_now();
    poll(fds, 3, left * 1e3 < LOOK_MS ? left > 0 ? (int)(left * 1e3) + 1 : 0 : LOOK_MS);
    if (fds[0].revents) take_signals(a);
    if (fds[1].revents) talks = take_output(a);
    if (fds[2].revents) answer_door(a);
    if (pg_now() >= deadline || pg_now() - looked >= LOOK_MS * 1e-3) {
      look(a, deadline);
      looked = pg_now();
    }
  }
  if (talks) take_output(a);
}

static void close_all(attendance *a) {
  const int all[] = {a->input, a->output[0], a->output[1], a->signals, a->door};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] >= 0) close(all[i]);
  sigprocmask(SIG_SETMASK, &a->usual, NULL);
}

pg_code pg_attend_run(const pg_attend *how, pg_attended *out, pg_error *error) {
  attendance a = {
      .how = how, .out = out, .input = -1, .output = {-1, -1}, .signals = -1, .door = -1};
  *out = (pg_attended){0};
  pg_code code = pg_binary(a.binary, error);
  if (code) return code;
  pg_remove_folder(how->folder);
  if (mkdir(how->folder, 0700) < 0) {
    pg_fail(error, PG_ENVIRONMENT, "cannot make a folder for the agent: %s", strerror(errno));
    return pg_where(error, "%s", how->folder);
  }
  code = open_streams(&a, error);
  if (!code) code = open_door(&a, error);
  if (!code) code = start(&a, error);
  if (!code) attend(&a);
  pg_family_end();
  close_all(&a);
  pg_remove_folder(how->folder);
  return code;
}
