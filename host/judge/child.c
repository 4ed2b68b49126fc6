/* The worker process. It opens no Lua and no device before it is asked to, so it starts in a
 * millisecond or two; whatever arrives on its socket gets an answer. */
#include "child.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compiler.h"
#include "request.h"
#include "sandbox.h"
#include "share.h"
#include "wire.h"
#include "worker.h"

enum { PRINTED_MOST = 1 << 16, TEXT_MOST = 1 << 14 };

typedef struct child {
  const char *name; /* of its role */
  pg_worker_kind role;
  pg_runner *runner;
  pg_compiler compiler;
  pg_shared *shared;
  char sandbox[PG_SANDBOX_MAX];
} child;

/* ---- what kernels print ---- */

/* Device printf goes to this process's standard output. A sealed file of fixed size takes it: a
 * flood is cut at its end, and nothing reaches the judge's own output. */
static void capture_output(void) {
  int fd = memfd_create("printed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return;
  if (ftruncate(fd, PRINTED_MOST) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
    dup2(fd, STDOUT_FILENO);
  close(fd);
}

/* Add what was printed since the last request to the reply. */
static void take_printed(json_t *reply) {
  fflush(stdout);
  off_t end = lseek(STDOUT_FILENO, 0, SEEK_CUR);
  if (end <= 0 || end > PRINTED_MOST) return;
  char *text = malloc((size_t)end + 1);
  ssize_t n = text ? pread(STDOUT_FILENO, text, (size_t)end, 0) : 0;
  if (n > 0) {
    text[n] = 0;
    json_object_set_new(reply, "printed", pg_json_text(text, TEXT_MOST));
  }
  free(text);
  lseek(STDOUT_FILENO, 0, SEEK_SET);
}

/* ---- requests of every worker ---- */

static json_t *hello(const child *c) {
  return json_pack("{s:b,s:s,s:i,s:o}", "ok", 1, "role", c->name, "pid", (int)getpid(), "sandbox",
                   pg_json_words(c->sandbox));
}

static json_t *share(child *c, const json_t *request, int passed) {
  pg_error error = {0};
  pg_shared *shared = NULL;
  int64_t bytes = 0;
  pg_code code = pg_req_integer(request, "bytes", 1, INT64_MAX, &bytes, &error);
  if (!code && passed < 0)
    code = pg_fail(&error, PG_INVALID, "\"share\" came without a descriptor");
  if (!code) code = pg_shared_map(passed, (size_t)bytes, &shared, &error);
  if (code) return pg_reply_error(&error);
  pg_runner_share(c->runner, shared->data, shared->bytes);
  pg_shared_release(c->shared);
  c->shared = shared;
  return json_pack("{s:b}", "ok", 1);
}

static json_t *handle(child *c, const json_t *request, int passed) {
  const char *op = json_string_value(json_object_get(request, "op"));
  if (op && strcmp(op, "hello") == 0) return hello(c);
  if (op && strcmp(op, "share") == 0) return share(c, request, passed);
  json_t *reply = c->role == PG_KIND_COMPILER ? pg_compiler_handle(&c->compiler, request)
                                              : pg_runner_handle(c->runner, request);
  if (reply) take_printed(reply);
  return reply;
}

static json_t *answer(child *c, const char *text, size_t bytes, int passed) {
  json_error_t where;
  pg_error error = {0};
  json_t *request = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &where);
  if (!request) {
    pg_fail(&error, PG_SYNTAX, "the request is no JSON: %s", where.text);
    pg_where(&error, "%d:%d", where.line, where.column);
    return pg_reply_error(&error);
  }
  json_t *reply = handle(c, request, passed);
  json_decref(request);
  return reply;
}

/* ---- the loop ---- */

static pg_code send_reply(json_t *reply, pg_error *error) {
  static const char nothing[] = "{\"ok\":false,\"error\":{\"code\":\"out_of_memory\",\"message\":"
                                "\"no memory for the reply, or it is "
                                "too long\",\"hint\":\"\",\"where\":\"\"}}";
  char *text = reply ? json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  size_t bytes = text ? strlen(text) : 0;
  bool usable = text && bytes <= PG_WIRE_MAX;
  pg_code code = pg_wire_send(PG_WORKER_FD, usable ? text : nothing,
                              usable ? bytes : sizeof nothing - 1, -1, INFINITY, error);
  free(text);
  return code;
}

/* One request and its reply; PG_IO when the judge has gone. */
static pg_code turn(child *c, pg_error *error) {
  char *text;
  size_t bytes;
  int passed;
  pg_code code = pg_wire_receive(PG_WORKER_FD, &text, &bytes, &passed, INFINITY, error);
  if (code && code != PG_RANGE && code != PG_MEMORY) return code;
  json_t *reply = code ? pg_reply_error(error) : answer(c, text, bytes, passed);
  if (passed >= 0) close(passed);
  free(text);
  code = send_reply(reply, error);
  json_decref(reply);
  return code;
}

static bool is_socket(int fd) {
  int type;
  socklen_t bytes = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

int pg_child_main(int argc, char **argv, pg_open_fn *open, const pg_expert *expert) {
  const char *role = argc > 0 ? argv[argc - 1] : "";
  child c = {.name = role, .role = pg_worker_kind_of(role)};
  c.compiler.sandbox = c.sandbox;
  pg_error error = {0};
  if (c.role == PG_KINDS || !is_socket(PG_WORKER_FD)) {
    fputs("perigee: --worker is for perigee itself, which starts it with a socket\n", stderr);
    return 2;
  }
  prctl(PR_SET_NAME, c.role == PG_KIND_COMPILER ? "perigee-compile" : "perigee-runner");
  if (pg_sandbox_enter(c.role, c.sandbox, &error)) return 1;
  capture_output();
  c.runner = pg_runner_new(open);
  if (!c.runner) return 1;
  if (c.role == PG_KIND_TRUSTED) pg_runner_trust(c.runner, expert);
  while (turn(&c, &error) == PG_OK) continue;
  pg_runner_free(c.runner);
  pg_shared_release(c.shared);
  return 0;
}

int pg_worker_main(int argc, char **argv, const pg_expert *expert) {
  return pg_child_main(argc, argv, pg_device_open, expert);
}
