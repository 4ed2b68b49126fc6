/* Standard streams and children behind one pair of descriptors. Nothing here waits but
 * pg_channel_poll, though the descriptors may be ones that would: others share their description,
 * so O_NONBLOCK is not ours to set. */
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "home.h"

struct pg_channel {
  int in, out; /* the same one for a child */
  pid_t pid;   /* 0: none, or reaped */
};

static pg_code make(pg_channel **out, pg_error *error) {
  pg_channel *channel = malloc(sizeof *channel);
  if (!channel) return pg_fail(error, PG_MEMORY, "no memory for a channel");
  *channel = (pg_channel){.in = -1, .out = -1};
  *out = channel;
  return PG_OK;
}

/* ---- the standard streams ---- */

static bool take_standard(pg_channel *channel) {
  channel->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  channel->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  bool held = channel->in >= 0 && channel->out >= 0 && nothing >= 0 &&
              dup2(nothing, STDIN_FILENO) >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
  if (nothing >= 0) close(nothing);
  return held;
}

pg_code pg_channel_standard(pg_channel **out, pg_error *error) {
  *out = NULL;
  pg_channel *channel = NULL;
  pg_code code = make(&channel, error);
  if (code) return code;
  if (!take_standard(channel)) {
    code = pg_fail(error, PG_ENVIRONMENT, "cannot take the standard streams: %s", strerror(errno));
    pg_channel_free(channel);
    return code;
  }
  signal(SIGPIPE, SIG_IGN);
  *out = channel;
  return PG_OK;
}

/* ---- a child ---- */

/* Between fork and exec: only what is safe there. The death signal outlives exec; the group is the
 * child's own, so that all of it can be killed. */
static _Noreturn void become(const char *binary, char *const *argv, int socket, pid_t parent) {
  setpgid(0, 0);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && dup2(socket, 0) >= 0 &&
      dup2(socket, 1) >= 0) {
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    execv(binary, argv);
  }
  _exit(127);
}

static pg_code start(pg_channel *channel, const char *binary, char *const *argv, pg_error *error) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
    return pg_fail(error, PG_ENVIRONMENT, "cannot make a socket pair: %s", strerror(errno));
  pid_t parent = getpid();
  channel->pid = fork();
  if (channel->pid == 0) become(binary, argv, pair[1], parent);
  close(pair[1]);
  if (channel->pid < 0) {
    channel->pid = 0;
    close(pair[0]);
    return pg_fail(error, PG_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
  }
  setpgid(channel->pid, channel->pid); /* whoever of the two comes first */
  channel->in = channel->out = pair[0];
  return PG_OK;
}

pg_code pg_channel_start(const char *const *arguments, pg_channel **out, pg_error *error) {
  enum { MOST = 16 };
  char binary[PG_PATH_MAX], *argv[MOST + 2] = {(char *)"perigee"};
  *out = NULL;
  pg_channel *channel = NULL;
  pg_code code = pg_binary(binary, error);
  for (int i = 0; !code && arguments[i]; i++) {
    if (i == MOST) return pg_fail(error, PG_RANGE, "more than %d arguments", MOST);
    argv[i + 1] = (char *)(uintptr_t)arguments[i];
  }
  if (!code) code = make(&channel, error);
  if (!code) code = start(channel, binary, argv, error);
  if (code)
    pg_channel_free(channel);
  else
    *out = channel;
  return code;
}

int pg_channel_pid(const pg_channel *channel) {
  return channel->pid;
}

void pg_channel_kill(pg_channel *channel) {
  if (channel->pid <= 0) return;
  kill(-channel->pid, SIGKILL);
  kill(channel->pid, SIGKILL); /* it may not have made its group yet */
  while (waitpid(channel->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  channel->pid = 0;
}

void pg_channel_free(pg_channel *channel) {
  if (!channel) return;
  pg_channel_kill(channel);
  if (channel->out >= 0 && channel->out != channel->in) close(channel->out);
  if (channel->in >= 0) close(channel->in);
  free(channel);
}

/* ---- a socket with a name ---- */

/* The folder by its descriptor, for the name of a socket may not be long. */
static bool address_of(const char *path, struct sockaddr_un *out, int *folder) {
  const char *slash = strrchr(path, '/');
  char text[PG_PATH_MAX] = ".";
  if (slash) snprintf(text, sizeof text, "%.*s/", (int)(slash - path), path);
  *out = (struct sockaddr_un){.sun_family = AF_UNIX};
  *folder = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (*folder < 0) return false;
  int n = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", *folder,
                   slash ? slash + 1 : path);
  return n < (int)sizeof out->sun_path;
}

static int socket_at(const char *path, int (*enter)(int, const struct sockaddr *, socklen_t)) {
  struct sockaddr_un address;
  int folder = -1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool entered = fd >= 0 && address_of(path, &address, &folder) &&
                 enter(fd, (struct sockaddr *)&address, sizeof address) == 0;
  int why = errno;
  if (folder >= 0) close(folder);
  if (!entered && fd >= 0) close(fd);
  errno = why;
  return entered ? fd : -1;
}

int pg_channel_listen(const char *path) {
  enum { BACKLOG = 16 };
  int fd = socket_at(path, bind);
  if (fd >= 0 && listen(fd, BACKLOG) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

pg_code pg_channel_connect(const char *path, pg_channel **out, pg_error *error) {
  *out = NULL;
  pg_channel *channel = NULL;
  pg_code code = make(&channel, error);
  if (code) return code;
  channel->in = channel->out = socket_at(path, connect);
  if (channel->in < 0) {
    pg_channel_free(channel);
    pg_fail(error, PG_ENVIRONMENT, "cannot connect: %s", strerror(errno));
    return pg_where(error, "%s", path);
  }
  *out = channel;
  return PG_OK;
}

void pg_channel_finish(pg_channel *channel) {
  shutdown(channel->out, SHUT_WR);
}

/* ---- bytes ---- */

static bool ready(int fd, short events) {
  struct pollfd one = {.fd = fd, .events = events};
  return poll(&one, 1, 0) > 0;
}

long pg_channel_read(pg_channel *channel, void *bytes, size_t size) {
  if (!ready(channel->in, POLLIN)) return 0;
  ssize_t got = read(channel->in, bytes, size);
  if (got > 0) return got;
  return got < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

/* A pipe that polls as writable has room for PIPE_BUF bytes; a socket can be told not to wait. */
long pg_channel_write(pg_channel *channel, const void *bytes, size_t size) {
  ssize_t put = send(channel->out, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (put < 0 && errno == ENOTSOCK) {
    if (!ready(channel->out, POLLOUT)) return 0;
    put = write(channel->out, bytes, size < PIPE_BUF ? size : PIPE_BUF);
  }
  if (put >= 0) return put;
  return errno == EINTR || errno == EAGAIN ? 0 : -1;
}

static int bits_of(const struct pollfd *in, const struct pollfd *out) {
  int bits = 0;
  if (in->revents) bits |= PG_CHANNEL_READ;
  if (out->revents & POLLOUT) bits |= PG_CHANNEL_WRITE;
  if (out->revents & (POLLERR | POLLNVAL)) bits |= PG_CHANNEL_GONE;
  return bits;
}

pg_code pg_channel_poll(pg_channel *const *list, int *bits, size_t count, double seconds,
                        pg_error *error) {
  struct pollfd *fds = calloc(2 * count + 1, sizeof *fds);
  if (!fds) return pg_fail(error, PG_MEMORY, "no memory to wait for %zu channels", count);
  for (size_t i = 0; i < count; i++) {
    fds[2 * i] =
        (struct pollfd){.fd = list[i]->in, .events = bits[i] & PG_CHANNEL_READ ? POLLIN : 0};
    fds[2 * i + 1] =
        (struct pollfd){.fd = list[i]->out, .events = bits[i] & PG_CHANNEL_WRITE ? POLLOUT : 0};
    if (!(bits[i] & PG_CHANNEL_READ)) fds[2 * i].fd = -1; /* at its end it would never be quiet */
  }
  int timeout = seconds < 0 ? -1 : (int)ceil(fmin(seconds * 1e3, INT_MAX));
  int n = poll(fds, (nfds_t)(2 * count), timeout);
  for (size_t i = 0; i < count; i++) bits[i] = n > 0 ? bits_of(&fds[2 * i], &fds[2 * i + 1]) : 0;
  free(fds);
  if (n < 0 && errno != EINTR)
    return pg_fail(error, PG_IO, "cannot wait for input: %s", strerror(errno));
  return PG_OK;
}
