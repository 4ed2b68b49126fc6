/* Running a compiler that is a program of its own.
 * Sources are files in a folder named by this process's id, so that whoever kills the
 * process knows what to remove. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"
#include "remove.h"
#include "request.h"
#include "tool_wait.h"

enum {
  ARGUMENTS_MOST = 256,
  TOOLCHAIN_MOST = 64,
  FILE_MOST = 256 << 20, /* of any file that a compiler writes: core's is 41 MB */
  OUTPUT_MOST = 64 << 20,
  LOG_MOST = 1 << 18,
  LEFT_S = 3600
};
/* How the child tells that it did not become the program: a byte behind the names of what it holds,
 * through a pipe that the program does not have. */
enum { NO_FOLDER = '1', NO_SANDBOX, NO_PROGRAM };

typedef struct tool {
  const char *argv[ARGUMENTS_MOST + 1];
  const json_t *files;
  const char *toolchain[TOOLCHAIN_MOST + 1];
  bool foreign; /* what is compiled is a candidate's */
  bool trust;   /* and may run where this kernel cannot confine it */
  char folder[PATH_MAX - NAME_MAX - 1];
  int output, log; /* its standard output and error, in memory: no name that it could change */
  pg_landlock landlock;
  char held[PG_SANDBOX_MAX]; /* restrictions that the program obtained */
} tool;

/* ---- the folder ---- */

static const char *base(void) {
  const char *given = getenv("TMPDIR");
  return given && *given ? given : "/tmp";
}

static void name_folder(char out[PATH_MAX - NAME_MAX - 1], int pid) {
  snprintf(out, PATH_MAX - NAME_MAX - 1, "%s/perigee-tool-%d", base(), pid);
}

static bool is_own_folder(const char *path, struct stat *info) {
  return lstat(path, info) == 0 && S_ISDIR(info->st_mode) && info->st_uid == geteuid();
}

void pg_tool_clean(int pid) {
  char folder[PATH_MAX - NAME_MAX - 1];
  struct stat info;
  name_folder(folder, pid);
  if (is_own_folder(folder, &info)) pg_remove_folder(folder);
}

/* Folders of workers that died with their judge, when nobody was left to remove them. The process
 * may be one of another container that shares this folder, so it must have had its time. */
static void remove_left(void) {
  char pattern[PATH_MAX];
  glob_t found;
  struct stat info;
  snprintf(pattern, sizeof pattern, "%s/perigee-tool-*", base());
  if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    int pid = atoi(strrchr(found.gl_pathv[i], '-') + 1);
    bool gone = pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
    if (gone && is_own_folder(found.gl_pathv[i], &info) && time(NULL) - info.st_mtime > LEFT_S)
      pg_remove_folder(found.gl_pathv[i]);
  }
  globfree(&found);
}

static pg_code make_folder(tool *t, pg_error *error) {
  pg_tool_clean(getpid());
  remove_left();
  name_folder(t->folder, getpid());
  if (mkdir(t->folder, 0700) == 0) return PG_OK;
  pg_fail(error, PG_IO, "cannot make a folder for the compiler: %s", strerror(errno));
  pg_where(error, "%s", t->folder);
  return pg_hint(error, "free space there, or set TMPDIR to another folder");
}

static const char *path_of(const tool *t, const char *name, char out[PATH_MAX]) {
  snprintf(out, PATH_MAX, "%s/%s", t->folder, name);
  return out;
}

/* A name of the folder's own: no path. */
static bool is_plain(const char *name) {
  return *name && *name != '.' && strlen(name) < NAME_MAX && !strchr(name, '/');
}

static pg_code write_file(const tool *t, const char *name, const json_t *text, pg_error *error) {
  char path[PATH_MAX];
  if (!is_plain(name) || !json_is_string(text))
    return pg_req_expected("files", "texts by plain file names", t->files, error);
  FILE *file = fopen(path_of(t, name, path), "we");
  size_t length = json_string_length(text);
  bool written = file && fwrite(json_string_value(text), 1, length, file) == length;
  if (file) written = fclose(file) == 0 && written;
  if (written) return PG_OK;
  pg_fail(error, PG_IO, "cannot write a source for the compiler: %s", strerror(errno));
  return pg_where(error, "%s", path);
}

static pg_code write_files(const tool *t, pg_error *error) {
  const char *name;
  json_t *text;
  json_object_foreach((json_t *)(uintptr_t)t->files, name, text) {
    pg_code code = write_file(t, name, text, error);
    if (code) return code;
  }
  return PG_OK;
}

/* What was written to a file in memory, at most `most` bytes of it and whether there is more; NULL
 * without memory. */
static char *read_text(int file, size_t most, bool *more) {
  struct stat info = {.st_size = 0};
  fstat(file, &info);
  *more = (size_t)info.st_size > most;
  size_t length = *more ? most : (size_t)info.st_size, done = 0;
  char *text = malloc(length + 1);
  while (text && done < length) {
    ssize_t n = pread(file, text + done, length - done, (off_t)done);
    if (n <= 0 && !(n < 0 && errno == EINTR)) break;
    if (n > 0) done += (size_t)n;
  }
  if (text) text[done] = 0;
  return text;
}

/* ---- the program ---- */

static pg_code open_outputs(tool *t, pg_error *error) {
  t->output = memfd_create("output", MFD_CLOEXEC);
  t->log = memfd_create("log", MFD_CLOEXEC);
  if (t->output >= 0 && t->log >= 0) return PG_OK;
  return pg_fail(error, PG_ENVIRONMENT, "memfd_create: %s", strerror(errno));
}

/* The worker has gone, and with it whoever would end this program. */
static bool orphaned(pid_t worker) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != worker;
}

/* Take the restrictions; 0, or why not. */
static char confine(tool *t) {
  if (!t->foreign) return 0;
  return pg_confine_program(&t->landlock, t->held) || t->trust ? 0 : NO_SANDBOX;
}

/* Becomes the program or returns why not. */
static char start(tool *t, pid_t worker, int report) {
  const struct rlimit most = {FILE_MOST, FILE_MOST};
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (orphaned(worker) || chdir(t->folder) || setrlimit(RLIMIT_FSIZE, &most) || nothing < 0 ||
      dup2(nothing, STDIN_FILENO) < 0 || dup2(t->output, STDOUT_FILENO) < 0 ||
      dup2(t->log, STDERR_FILENO) < 0)
    return NO_FOLDER;
  char why = confine(t);
  if (why) return why;
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (write(report, t->held, strlen(t->held)) < 0) return NO_SANDBOX;
  /* execvp takes no const, though it changes nothing. */
  execvp(t->argv[0], (char *const *)(uintptr_t)t->argv);
  return NO_PROGRAM;
}

/* The child between fork and exec: only what is safe there. */
static void become(tool *t, pid_t worker, int report) {
  char why = start(t, worker, report);
  _exit(write(report, &why, 1) == 1 ? 1 : 2);
}

/* When the judge dies, what the program has started must go, too: all of it is in this group. */
static void end_group(int number) {
  (void)number;
  kill(0, SIGKILL);
}

static void die_with_group(void) {
  if (getpgrp() != getpid()) return;
  signal(SIGTERM, end_group);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

static pg_code no_program(const tool *t, char why, pg_error *error) {
  switch (why) {
  case NO_FOLDER: return pg_fail(error, PG_IO, "the compiler's folder cannot be used");
  case NO_SANDBOX:
    pg_fail(error, PG_ENVIRONMENT,
            "'%.200s' runs code of the candidate, and this system cannot confine it (%s)",
            t->argv[0], pg_landlock_abi() ? "no seccomp, or PERIGEE_SANDBOX=off" : "no Landlock");
    return pg_hint(error, "--trust compiles it all the same, with all that you may do yourself");
  case NO_PROGRAM:
    pg_fail(error, PG_ENVIRONMENT, "there is no program '%.200s' that runs", t->argv[0]);
    return pg_hint(error, "install it, or put its folder into PATH");
  default: return PG_OK;
  }
}

/* The child's report to its end: the names of what it holds, and why it is no program. */
static char take_report(tool *t, int report) {
  size_t used = 0;
  ssize_t n;
  while (used + 1 < sizeof t->held &&
         ((n = read(report, t->held + used, sizeof t->held - 1 - used)) > 0 ||
          (n < 0 && errno == EINTR)))
    if (n > 0) used += (size_t)n;
  t->held[used] = 0;
  char last = used > 0 ? t->held[used - 1] : 0;
  return last >= NO_FOLDER && last <= NO_PROGRAM ? last : 0; /* no name ends in a digit */
}

static pg_code run(tool *t, int *status, pg_error *error) {
  int report[2];
  pid_t worker = getpid();
  if (pipe2(report, O_CLOEXEC) < 0)
    return pg_fail(error, PG_ENVIRONMENT, "cannot make a pipe: %s", strerror(errno));
  if (t->foreign) pg_confine_prepare_program(t->toolchain, t->folder, &t->landlock);
  die_with_group();
  long shortages = pg_tool_prepare();
  pid_t pid = fork();
  if (pid == 0) become(t, worker, report[1]);
  pg_landlock_drop(&t->landlock);
  close(report[1]);
  char why = take_report(t, report[0]);
  close(report[0]);
  if (pid < 0) return pg_fail(error, PG_ENVIRONMENT, "cannot start a process: %s", strerror(errno));
  pg_code code = pg_tool_wait(pid, t->folder, shortages, status, error);
  return code ? code : no_program(t, why, error);
}

static pg_code result(const tool *t, int status, json_t **reply, pg_error *error) {
  bool more = false, ignored;
  char *output = read_text(t->output, OUTPUT_MOST, &more);
  char *log = read_text(t->log, LOG_MOST, &ignored);
  pg_code code = !output || !log ? pg_fail(error, PG_MEMORY, "no memory for the output") : PG_OK;
  if (!code && more)
    code = pg_fail(error, PG_RANGE, "'%.200s' printed over %d MiB", t->argv[0], OUTPUT_MOST >> 20);
  if (!code) {
    *reply = json_object();
    json_object_set_new(*reply, "ok", json_true());
    json_object_set_new(*reply, "status",
                        json_integer(WIFEXITED(status) ? WEXITSTATUS(status) : -1));
    json_object_set_new(*reply, "signal", json_integer(WIFSIGNALED(status) ? WTERMSIG(status) : 0));
    json_object_set_new(*reply, "output", pg_json_text(output, OUTPUT_MOST));
    json_object_set_new(*reply, "log", pg_json_text(log, LOG_MOST));
    json_object_set_new(*reply, "sandbox", pg_json_words(t->held));
  }
  free(output);
  free(log);
  return code;
}

/* ---- the request ---- */

static pg_code parse(const json_t *request, tool *t, pg_error *error) {
  pg_code code = pg_req_known(request, "op argv files toolchain trust", error);
  int count = 0;
  if (!code) code = pg_opt_strings(request, "argv", ARGUMENTS_MOST, t->argv, &count, error);
  if (!code && !t->argv[0])
    code = pg_req_expected("argv", "a program", json_object_get(request, "argv"), error);
  t->foreign = json_object_get(request, "toolchain") != NULL;
  if (!code && t->foreign)
    code = pg_opt_strings(request, "toolchain", TOOLCHAIN_MOST, t->toolchain, &count, error);
  if (!code) code = pg_opt_bool(request, "trust", &t->trust, error);
  t->files = json_object_get(request, "files");
  if (!code && t->files && !json_is_object(t->files))
    return pg_req_expected("files", "texts by name", t->files, error);
  return code;
}

json_t *pg_tool_handle(const json_t *request) {
  tool t = {.landlock.ruleset = -1, .output = -1, .log = -1};
  pg_error error = {0};
  json_t *reply = NULL;
  int status = 0;
  pg_code code = parse(request, &t, &error);
  if (code) return pg_reply_error(&error);
  code = make_folder(&t, &error);
  if (!code) code = write_files(&t, &error);
  if (!code) code = open_outputs(&t, &error);
  if (!code) code = run(&t, &status, &error);
  if (!code) code = result(&t, status, &reply, &error);
  pg_tool_clean(getpid());
  if (t.output >= 0) close(t.output);
  if (t.log >= 0) close(t.log);
  return code ? pg_reply_error(&error) : reply;
}
