/* Restrictions of a worker process.
 * Each is a function that says whether it holds; the record of an evaluation lists the ones that
 * do. */
#include "sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confine.h"

extern char **environ;

pg_worker_kind pg_worker_kind_of(const char *name) {
  static const char *const names[PG_KINDS] = {"runner", "simulator", "unconfined", "trusted",
                                              "compiler"};
  int role = 0;
  while (role < PG_KINDS && strcmp(name, names[role]) != 0) role++;
  return (pg_worker_kind)role;
}

/* ---- environment ---- */

typedef struct variable {
  const char *name;
  const char *value; /* NULL: the caller's, when it has one */
  bool runner, compiler, trusted;
} variable;

static const variable variables[] = {
    {"PATH", NULL, true, true, true},
    {"HOME", NULL, true, true, true},
    {"PERIGEE_HOME", NULL, true, true, true},
    {"PERIGEE_SANDBOX", NULL, true, true, true},
    {"LD_LIBRARY_PATH", NULL, true, true, true},
    {"CUDA_VISIBLE_DEVICES", NULL, true, false, true},
    {"CUDA_DEVICE_ORDER", NULL, true, false,
     true}, /* or "cuda:1" would mean another GPU than in the judge */
    /* The driver's cache of compiled PTX is a file that one candidate could leave for the next, and
     * lazy loading would put the loading of a kernel into its first timed launch. (Libraries have
     * thousands of kernels; theirs are loaded by the run that is checked.) */
    {"CUDA_CACHE_DISABLE", "1", true, false, false},
    {"CUDA_MODULE_LOADING", "EAGER", true, false, false},
    {"XDG_CACHE_HOME", NULL, false, true, true},
    {"TMPDIR", NULL, false, true, true},
    {"CUDA_HOME", NULL, false, true, true},
    {"CUDA_PATH", NULL, false, true, true},
    {"VIRTUAL_ENV", NULL, false, true, true}, /* NVRTC lives in wheels, too */
    {"CONDA_PREFIX", NULL, false, true, true},
    {"PERIGEE_CACHE", NULL, false, true, true},
    {"PERIGEE_NVRTC", NULL, false, true, true},
    {"PERIGEE_PYTHON", NULL, false, false, true}, /* whose libraries an expert may use */
    {"ASAN_OPTIONS", NULL, true, true, true},     /* sanitizer builds of perigee itself */
    {"LSAN_OPTIONS", NULL, true, true, true},
    {"UBSAN_OPTIONS", NULL, true, true, true},
};

enum { VARIABLES = sizeof variables / sizeof *variables };

static bool is_for(const variable *v, pg_worker_kind role) {
  if (role == PG_KIND_TRUSTED) return v->trusted;
  return role == PG_KIND_COMPILER ? v->compiler : v->runner;
}

static char *assignment(const char *name, const char *value) {
  size_t bytes = strlen(name) + strlen(value) + 2;
  char *text = malloc(bytes);
  if (text) snprintf(text, bytes, "%s=%s", name, value);
  return text;
}

char **pg_sandbox_environment(pg_worker_kind role) {
  char **block = calloc(VARIABLES + 1, sizeof *block);
  size_t n = 0;
  for (size_t i = 0; block && i < VARIABLES; i++) {
    const variable *v = &variables[i];
    const char *value = v->value ? v->value : getenv(v->name);
    if (!value || !is_for(v, role)) continue;
    block[n] = assignment(v->name, value);
    if (!block[n++]) {
      pg_sandbox_environment_free(block);
      return NULL;
    }
  }
  return block;
}

void pg_sandbox_environment_free(char **environment) {
  for (char **e = environment; e && *e; e++) free(*e);
  free(environment);
}

static bool is_allowed(const char *entry, pg_worker_kind role) {
  for (size_t i = 0; i < VARIABLES; i++) {
    size_t n = strlen(variables[i].name);
    if (strncmp(entry, variables[i].name, n) == 0 && entry[n] == '=')
      return is_for(&variables[i], role);
  }
  return false;
}

static bool clean_environment(pg_worker_kind role) {
  for (char **e = environ; e && *e; e++)
    if (!is_allowed(*e, role)) return false;
  return true;
}

/* ---- restrictions ---- */

void pg_sandbox_note(char names[PG_SANDBOX_MAX], const char *name) {
  size_t used = strlen(names);
  if (used + strlen(name) + 2 > PG_SANDBOX_MAX) return;
  snprintf(names + used, PG_SANDBOX_MAX - used, "%s%s", used ? " " : "", name);
}

static bool own_group(pg_worker_kind role) {
  (void)role;
  return getpgrp() == getpid() || setpgid(0, 0) == 0;
}

/* Die with the parent, even inside a kernel that never ends. */
static bool parent_death(pg_worker_kind role) {
  (void)role;
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

static bool no_new_privileges(pg_worker_kind role) {
  (void)role;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* A limit of 1 byte stops core files, and, unlike 0, also a core_pattern that is a pipe. */
static bool no_core_dumps(pg_worker_kind role) {
  (void)role;
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) < 0) return false;
  limit.rlim_cur = limit.rlim_max = limit.rlim_max < 1 ? limit.rlim_max : 1;
  return setrlimit(RLIMIT_CORE, &limit) == 0;
}

static bool closed_descriptors(pg_worker_kind role) {
  (void)role;
  return close_range(PG_WORKER_FD + 1, ~0U, 0) == 0;
}

/* Templates that recurse eat memory; the driver of a GPU, on the other hand, reserves terabytes of
 * addresses, and so does AddressSanitizer. */
static bool address_limit(pg_worker_kind role) {
#ifdef __SANITIZE_ADDRESS__
  (void)role;
  return false;
#else
  const rlim_t most = (rlim_t)8 << 30;
  struct rlimit limit;
  if (role != PG_KIND_COMPILER || getrlimit(RLIMIT_AS, &limit) < 0) return false;
  if (limit.rlim_max > most) limit.rlim_max = most;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_AS, &limit) == 0;
#endif
}

static const struct {
  const char *name;
  bool (*take)(pg_worker_kind role);
} restrictions[] = {
    {"own-group", own_group},
    {"parent-death", parent_death},
    {"no-new-privs", no_new_privileges},
    {"no-core-dumps", no_core_dumps},
    {"closed-descriptors", closed_descriptors},
    {"clean-environment", clean_environment},
    {"address-limit", address_limit},
};

/* PR_SET_PDEATHSIG tells nothing of a parent that died before it; the socket knows who made it. */
static bool orphaned(void) {
  struct ucred peer;
  socklen_t bytes = sizeof peer;
  if (getsockopt(PG_WORKER_FD, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0) return true;
  return peer.pid != getppid();
}

pg_code pg_sandbox_enter(pg_worker_kind role, char names[PG_SANDBOX_MAX], pg_error *error) {
  names[0] = 0;
  for (size_t i = 0; i < sizeof restrictions / sizeof *restrictions; i++)
    if (restrictions[i].take(role)) pg_sandbox_note(names, restrictions[i].name);
  /* Last: they take away what the lines above need. They bind the calling thread and its children
   * only, so they come before the first thread and before the driver is opened. */
  if (role == PG_KIND_RUNNER || role == PG_KIND_SIMULATOR)
    pg_confine_runner(role == PG_KIND_SIMULATOR, names);
  if (orphaned()) return pg_fail(error, PG_CRASHED, "the process that started this one is gone");
  return PG_OK;
}
