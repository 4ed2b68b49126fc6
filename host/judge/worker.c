/* The judge's side of a worker: start it, talk to it under a deadline, say in words how it ended.
 * The process group is killed before its leader is reaped, so its id cannot have been given away.
 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../home.h"
#include "sandbox.h"
#include "tool.h"
#include "watch.h"
#include "wire.h"

enum { CAUSE_MAX = 256 };
static const double hello_deadline_s = 30; /* generous: a loaded machine, a sanitizer build */
static const double share_deadline_s = 30;
static const double dying_s = 2; /* a closed socket means that the process is ending */
static const double killed_s =
    30; /* a driver takes its time to clean up after a GPU that was busy */
static const double watch_s = 0.1;   /* between two looks at its memory */
static const double arriving_s = 30; /* a reply that has begun in time may finish */

struct pg_worker {
  char role[16];
  pid_t pid; /* 0: ended, and `cause` says how */
  int socket;
  pg_shared *shared;
  bool posted; /* a request is under way, with */
  double deadline_s, deadline;
  pg_error failed;    /* why its post failed; code PG_OK if it did not */
  size_t memory_most; /* bytes, above which it is killed; 0: as the machine allows */
  bool stopped;       /* killed from here */
  bool starved;       /* it ended for want of memory on this machine */
  char sandbox[PG_SANDBOX_MAX];
  char cause[CAUSE_MAX];
};

/* ---- its end ---- */

static void describe_status(char cause[CAUSE_MAX], int status) {
  if (WIFSIGNALED(status)) {
    int number = WTERMSIG(status);
    const char *name = sigabbrev_np(number), *text = sigdescr_np(number);
    snprintf(cause, CAUSE_MAX, "was killed by signal %d (SIG%s, %s)", number, name ? name : "?",
             text ? text : "unknown");
  } else if (WIFEXITED(status)) {
    snprintf(cause, CAUSE_MAX, "exited with status %d", WEXITSTATUS(status));
  } else {
    snprintf(cause, CAUSE_MAX, "ended with wait status 0x%x", (unsigned)status);
  }
}

/* Wait until the process has ended, for so many seconds at most, without reaping it. */
static bool wait_for_end(pid_t pid, double seconds) {
  double until = pg_now() + seconds;
  siginfo_t info;
  do {
    memset(&info, 0, sizeof info);
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid)
      return true; /* an error: somebody else has reaped it */
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
  } while (pg_now() < until);
  return false;
}

static void kill_group(const pg_worker *w) {
  kill(-w->pid, SIGKILL);
  kill(w->pid, SIGKILL); /* in case it has left its group */
}

void pg_worker_stop(pg_worker *w) {
  if (w->pid <= 0) return;
  w->stopped = true;
  kill_group(w);
}

/* Kill what is left of the group and reap. `why` NULL: the process ended by itself, or is about to,
 * and has a moment so that the status is its own. One that sits in a driver and cannot die is left
 * behind. */
static void end(pg_worker *w, const char *why) {
  int status = 0;
  if (w->pid <= 0) return;
  if (!why && !wait_for_end(w->pid, dying_s)) why = "closed its socket and was killed";
  kill_group(w);
  pid_t n = wait_for_end(w->pid, killed_s) ? waitpid(w->pid, &status, WNOHANG) : 0;
  if (why)
    snprintf(w->cause, CAUSE_MAX, "%s%s", why, n == 0 ? ", and cannot end" : "");
  else if (n == w->pid)
    describe_status(w->cause, status);
  else
    snprintf(w->cause, CAUSE_MAX, "ended (its status was taken by somebody else)");
  /* A signal that nobody here sent, and that no candidate can send. */
  w->starved = !why && !w->stopped && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  pg_tool_clean(w->pid);
  close(w->socket);
  w->socket = -1;
  w->pid = 0;
}

static pg_code crashed(const pg_worker *w, pg_error *error) {
  pg_fail(error, w->starved ? PG_ENVIRONMENT : PG_CRASHED, "the %s process %s", w->role, w->cause);
  if (w->starved && strstr(w->cause, "SIGKILL"))
    pg_hint(error, "nobody here sent that signal: the kernel does when memory runs out");
  else if (w->starved)
    pg_hint(error, "this machine has no more memory to give: end other programs, or take less");
  return pg_where(error, "%s", w->role);
}

void pg_worker_kill(pg_worker *worker, const char *why) {
  end(worker, why ? why : "was killed on request");
}

void pg_worker_free(pg_worker *worker) {
  if (!worker) return;
  end(worker, "was freed");
  pg_shared_release(worker->shared);
  free(worker);
}

/* ---- its start ---- */

/* Signals as a fresh process has them: nothing blocked, nothing ignored. */
static void default_signals(posix_spawnattr_t *attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setsigmask(attributes, &none);
}

static int spawn(pid_t *pid, const char *binary, int socket, const char *role, char **environment) {
  char *argv[] = {(char *)"perigee", (char *)"--worker", (char *)(uintptr_t)role, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int e = posix_spawn_file_actions_init(&actions);
  if (e) return e;
  e = posix_spawnattr_init(&attributes);
  if (e) {
    posix_spawn_file_actions_destroy(&actions);
    return e;
  }
  default_signals(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  e = posix_spawn_file_actions_adddup2(&actions, socket, PG_WORKER_FD);
  if (!e) e = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!e) e = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  if (!e) e = posix_spawn(pid, binary, &actions, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return e;
}

/* Reads {"ok":true,"sandbox":[...]}. */
static pg_code take_hello(pg_worker *w, const char *reply, pg_error *error) {
  json_t *root = json_loads(reply, 0, NULL), *name;
  json_t *list = json_object_get(root, "sandbox");
  size_t i;
  pg_code code = PG_OK;
  if (!json_is_true(json_object_get(root, "ok")) || !json_is_array(list))
    code = pg_fail(error, PG_CRASHED, "the %s process greeted with %.200s", w->role, reply);
  json_array_foreach(list, i, name) if (json_is_string(name))
      pg_sandbox_note(w->sandbox, json_string_value(name));
  json_decref(root);
  if (pg_usage_of(w->pid).processes > 0) pg_sandbox_note(w->sandbox, "memory-watch");
  return code;
}

static pg_code start(pg_worker *w, pg_error *error) {
  int pair[2];
  char binary[PG_PATH_MAX];
  pg_code code = pg_binary(binary, error);
  if (code) return code;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
    return pg_fail(error, PG_ENVIRONMENT, "cannot make a socket pair: %s", strerror(errno));
  char **environment = pg_sandbox_environment(pg_worker_kind_of(w->role));
  int e = environment ? spawn(&w->pid, binary, pair[1], w->role, environment) : ENOMEM;
  pg_sandbox_environment_free(environment);
  close(pair[1]);
  if (e) {
    close(pair[0]);
    w->pid = 0;
    pg_fail(error, PG_ENVIRONMENT, "cannot start a %s process: %s", w->role, strerror(e));
    return pg_hint(error, "is /proc mounted, and is there room for another process?");
  }
  w->socket = pair[0];
  char *reply = NULL;
  code = pg_worker_call(w, "{\"op\":\"hello\"}", hello_deadline_s, &reply, error);
  if (!code) code = take_hello(w, reply, error);
  free(reply);
  return code;
}

pg_code pg_worker_spawn(const char *role, pg_worker **out, pg_error *error) {
  *out = NULL;
  if (pg_worker_kind_of(role) == PG_KINDS) {
    pg_fail(error, PG_INVALID, "a worker has no role \"%s\"", role);
    return pg_hint(error, "the roles are runner, simulator, unconfined, trusted and compiler");
  }
  pg_worker *w = calloc(1, sizeof *w);
  if (!w) return pg_fail(error, PG_MEMORY, "no memory for a worker");
  snprintf(w->role, sizeof w->role, "%s", role);
  w->socket = -1;
  pg_code code = start(w, error);
  if (code)
    pg_worker_free(w);
  else
    *out = w;
  return code;
}

/* ---- talking to it ---- */

static pg_code timed_out(pg_worker *w, double deadline_s, pg_error *error) {
  char why[CAUSE_MAX];
  snprintf(why, sizeof why, "was killed: it had not answered within %.4g s", deadline_s);
  end(w, why);
  pg_fail(error, PG_TIMEOUT, "the %s process gave no answer within %.4g s and was killed", w->role,
          deadline_s);
  return pg_where(error, "%s", w->role);
}

/* What an error of the wire means for the process. */
static pg_code wire_failed(pg_worker *w, pg_code code, pg_error *error) {
  if (code == PG_TIMEOUT) return timed_out(w, w->deadline_s, error);
  end(w, code == PG_IO ? NULL : "was killed: its answer was too long");
  return crashed(w, error);
}

static pg_code post(pg_worker *w, const char *request, int pass, double deadline_s,
                    pg_error *error) {
  if (w->posted) return pg_fail(error, PG_INVALID, "a request is under way: take its reply first");
  if (!(deadline_s > 0))
    return pg_fail(error, PG_RANGE, "a deadline must be a positive number of seconds, got %g",
                   deadline_s);
  if (w->pid <= 0) return crashed(w, error);
  w->deadline_s = deadline_s;
  w->deadline = pg_now() + deadline_s;
  pg_code code = pg_wire_send(w->socket, request, strlen(request), pass, w->deadline, error);
  if (code == PG_RANGE) return code; /* too long: nothing was sent */
  if (code) return wire_failed(w, code, error);
  w->posted = true;
  return PG_OK;
}

/* What it holds, and may hold; a compiler shares nothing with the judge. */
static bool too_large(pg_worker *w, pg_allowance *most) {
  bool compiler = pg_worker_kind_of(w->role) == PG_KIND_COMPILER;
  pg_usage used = pg_usage_of(w->pid);
  size_t held = used.memory + (compiler ? used.shared : 0);
  char why[CAUSE_MAX];
  if (most->memory == 0) *most = pg_allowance_of(compiler, held);
  if (held <= most->memory) return false;
  snprintf(why, sizeof why, "was killed: it used %.3g GiB of memory, and may have %.3g GiB",
           (double)held / 0x1p30, (double)most->memory / 0x1p30);
  end(w, why);
  w->starved = most->scarce;
  return true;
}

/* Wait for the reply or the deadline, with an eye on what it takes; false when the worker was
 * killed for it. What the machine can give is asked anew each time: a spare may have started when
 * others had it all. */
static bool within_limits(pg_worker *w) {
  pg_allowance most = {w->memory_most, false};
  for (double now = pg_now(); now < w->deadline; now = pg_now()) {
    if (pg_wire_readable(w->socket, fmin(w->deadline, now + watch_s))) return true;
    if (too_large(w, &most)) return false;
  }
  return true;
}

static pg_code take(pg_worker *w, char **reply, pg_error *error) {
  size_t bytes;
  *reply = NULL;
  if (!w->posted) return pg_fail(error, PG_INVALID, "no request is under way: post one first");
  w->posted = false;
  if (w->pid <= 0) return crashed(w, error);
  if (!within_limits(w)) return crashed(w, error);
  /* The judge may have been busy elsewhere: what has arrived by now counts as in time. */
  if (pg_now() > w->deadline && pg_wire_readable(w->socket, 0)) w->deadline = pg_now() + arriving_s;
  pg_code code = pg_wire_receive(w->socket, reply, &bytes, NULL, w->deadline, error);
  return code ? wire_failed(w, code, error) : PG_OK;
}

pg_code pg_worker_post(pg_worker *worker, const char *request, double deadline_s, pg_error *error) {
  bool busy = worker->posted;
  pg_error local = {0};
  pg_code code = post(worker, request, -1, deadline_s, &local);
  if (!busy) worker->failed = local;
  if (code && error) *error = local;
  return code;
}

pg_code pg_worker_take(pg_worker *worker, char **reply, pg_error *error) {
  pg_error failed = worker->failed;
  worker->failed = (pg_error){0};
  if (!failed.code) return take(worker, reply, error);
  *reply = NULL;
  if (error) *error = failed;
  return failed.code;
}

static pg_code exchange(pg_worker *w, const char *request, int pass, double deadline_s,
                        char **reply, pg_error *error) {
  *reply = NULL;
  pg_code code = post(w, request, pass, deadline_s, error);
  return code ? code : take(w, reply, error);
}

pg_code pg_worker_call(pg_worker *worker, const char *request, double deadline_s, char **reply,
                       pg_error *error) {
  worker->failed = (pg_error){0};
  return exchange(worker, request, -1, deadline_s, reply, error);
}

pg_code pg_worker_share(pg_worker *worker, size_t bytes, pg_error *error) {
  pg_shared *shared;
  int fd;
  char request[64], *reply = NULL;
  pg_code code = pg_shared_new(bytes, &shared, &fd, error);
  if (code) return code;
  snprintf(request, sizeof request, "{\"op\":\"share\",\"bytes\":%zu}", bytes);
  code = exchange(worker, request, fd, share_deadline_s, &reply, error);
  close(fd);
  if (!code && strncmp(reply, "{\"ok\":true", 10) != 0)
    code = pg_fail(error, PG_IO, "the %s process refused memory: %.500s", worker->role, reply);
  free(reply);
  if (code) {
    pg_shared_release(shared);
    return code;
  }
  pg_shared_release(worker->shared);
  worker->shared = shared;
  return PG_OK;
}

void *pg_worker_memory(pg_worker *worker, size_t *bytes) {
  if (bytes) *bytes = worker->shared ? worker->shared->bytes : 0;
  return worker->shared ? worker->shared->data : NULL;
}

pg_shared *pg_worker_shared(pg_worker *worker) {
  return worker->shared;
}

void pg_worker_limit_memory(pg_worker *worker, size_t bytes) {
  worker->memory_most = bytes;
}

int pg_worker_pid(const pg_worker *worker) {
  return worker->pid;
}

bool pg_worker_alive(const pg_worker *worker) {
  return worker->pid > 0 && !wait_for_end(worker->pid, 0);
}

const char *pg_worker_sandbox(const pg_worker *worker) {
  return worker->sandbox;
}
