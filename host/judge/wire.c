/* Framed messages over a stream socket, with deadlines by poll.
 * The socket stays blocking for others: every call here asks for MSG_DONTWAIT and waits in poll. */
#include "wire.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Milliseconds for poll, rounded up so that a deadline is never cut short; -1 for no deadline. */
static int wait_ms(double deadline) {
  if (isinf(deadline)) return -1;
  double ms = ceil((deadline - pg_now()) * 1e3);
  if (!(ms > 0)) return 0;
  return ms < 1e9 ? (int)ms : 1000000000;
}

bool pg_wire_readable(int socket, double until) {
  struct pollfd p = {.fd = socket, .events = POLLIN};
  return poll(&p, 1, wait_ms(until)) > 0;
}

static pg_code wait_for(int socket, short events, double deadline, pg_error *error) {
  for (;;) {
    struct pollfd p = {.fd = socket, .events = events};
    int ms = wait_ms(deadline);
    int n = poll(&p, 1, ms);
    if (n > 0) return PG_OK; /* also on POLLHUP and POLLERR: the next call says what it is */
    if (n == 0 && wait_ms(deadline) == 0) return pg_fail(error, PG_TIMEOUT, "the deadline passed");
    if (n < 0 && errno != EINTR) return pg_fail(error, PG_IO, "poll: %s", strerror(errno));
  }
}

static pg_code gone(pg_error *error, const char *what) {
  return pg_fail(error, PG_IO, "%s: %s", what, strerror(errno));
}

/* One sendmsg; the descriptor goes with the first byte. */
static ssize_t send_some(int socket, const struct iovec *parts, size_t count, int pass) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr m = {.msg_iov = (struct iovec *)parts, .msg_iovlen = count};
  if (pass >= 0) {
    memset(&control, 0, sizeof control);
    m.msg_control = control.bytes;
    m.msg_controllen = sizeof control.bytes;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof pass);
    memcpy(CMSG_DATA(c), &pass, sizeof pass);
  }
  return sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

pg_code pg_wire_send(int socket, const char *text, size_t bytes, int pass, double deadline,
                     pg_error *error) {
  if (bytes > PG_WIRE_MAX)
    return pg_fail(error, PG_RANGE, "a message of %zu bytes is longer than the limit of %d", bytes,
                   PG_WIRE_MAX);
  uint32_t length = (uint32_t)bytes;
  size_t sent = 0, total = sizeof length + bytes;
  while (sent < total) {
    size_t head = sent < sizeof length ? sizeof length - sent : 0;
    size_t body = sent < sizeof length ? 0 : sent - sizeof length;
    struct iovec parts[2] = {{(char *)&length + (sizeof length - head), head},
                             {(char *)(uintptr_t)text + body, bytes - body}};
    ssize_t n = send_some(socket, parts, 2, sent == 0 ? pass : -1);
    if (n > 0) {
      sent += (size_t)n;
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pg_code code = wait_for(socket, POLLOUT, deadline, error);
      if (code) return code;
    } else if (n < 0 && errno != EINTR) {
      return gone(error, "send");
    }
  }
  return PG_OK;
}

/* Keep the first descriptor of a control message in *passed, close all others. */
static void take_descriptors(struct msghdr *m, int *passed) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      if (*passed < 0)
        *passed = fd;
      else
        close(fd);
    }
  }
}

/* One recvmsg: > 0 bytes read, 0 end of file, -1 with errno. */
static ssize_t receive_some(int socket, void *to, size_t bytes, int *passed) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(4 * sizeof(int))];
  } control;
  struct iovec part = {to, bytes};
  struct msghdr m = {.msg_iov = &part,
                     .msg_iovlen = 1,
                     .msg_control = control.bytes,
                     .msg_controllen = sizeof control.bytes};
  ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n >= 0) take_descriptors(&m, passed);
  return n;
}

static pg_code receive_all(int socket, void *to, size_t bytes, int *passed, double deadline,
                           pg_error *error) {
  for (size_t got = 0; got < bytes;) {
    ssize_t n = receive_some(socket, (char *)to + got, bytes - got, passed);
    if (n > 0) {
      got += (size_t)n;
    } else if (n == 0 || errno == ECONNRESET) {
      return pg_fail(error, PG_IO, got ? "end of file inside a message" : "end of file");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pg_code code = wait_for(socket, POLLIN, deadline, error);
      if (code) return code;
    } else if (errno != EINTR) {
      return gone(error, "receive");
    }
  }
  return PG_OK;
}

static pg_code skip(int socket, size_t bytes, int *passed, double deadline, pg_error *error) {
  char rubbish[16384];
  while (bytes > 0) {
    size_t n = bytes < sizeof rubbish ? bytes : sizeof rubbish;
    pg_code code = receive_all(socket, rubbish, n, passed, deadline, error);
    if (code) return code;
    bytes -= n;
  }
  return PG_OK;
}

static pg_code receive_body(int socket, char **text, size_t length, int *passed, double deadline,
                            pg_error *error) {
  char *buffer = length <= PG_WIRE_MAX ? malloc(length + 1) : NULL;
  if (!buffer) {
    pg_code code = skip(socket, length, passed, deadline, error);
    if (code) return code;
    if (length > PG_WIRE_MAX)
      return pg_fail(error, PG_RANGE, "a message of %zu bytes is longer than the limit of %d",
                     length, PG_WIRE_MAX);
    return pg_fail(error, PG_MEMORY, "no memory for a message of %zu bytes", length);
  }
  pg_code code = receive_all(socket, buffer, length, passed, deadline, error);
  if (code) {
    free(buffer);
    return code;
  }
  buffer[length] = 0;
  *text = buffer;
  return PG_OK;
}

pg_code pg_wire_receive(int socket, char **text, size_t *bytes, int *passed, double deadline,
                        pg_error *error) {
  uint32_t length = 0;
  int fd = -1;
  *text = NULL;
  *bytes = 0;
  pg_code code = receive_all(socket, &length, sizeof length, &fd, deadline, error);
  if (!code) code = receive_body(socket, text, length, &fd, deadline, error);
  if (!code) *bytes = length;
  if (fd >= 0 && (code || !passed)) {
    close(fd);
    fd = -1;
  }
  if (passed) *passed = fd;
  return code;
}
