/* The C API's judge: `perigee check` as a process of its own, so that nothing of a candidate runs
 * in the program that asks. Its output is collected in memory files. */
#include "api.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../home.h"

extern char **environ;

enum { COMMAND_WORDS = 7 };

/* All of a file as text; NULL without memory. */
static char *read_all(int fd) {
  struct stat info;
  if (fstat(fd, &info)) return NULL;
  size_t length = (size_t)info.st_size, done = 0;
  char *text = malloc(length + 1);
  if (!text) return NULL;
  while (done < length) {
    ssize_t got = pread(fd, text + done, length - done, (off_t)done);
    if (got <= 0) break;
    done += (size_t)got;
  }
  text[done] = '\0';
  return text;
}

static pg_code spawn(const char *binary, char **argv, int out, int err, pid_t *pid,
                     pg_error *error) {
  posix_spawn_file_actions_t actions;
  int e = posix_spawn_file_actions_init(&actions);
  if (e) return pg_fail(error, PG_MEMORY, "cannot start %s: %s", binary, strerror(e));
  e = posix_spawn_file_actions_adddup2(&actions, out, 1);
  if (!e) e = posix_spawn_file_actions_adddup2(&actions, err, 2);
  if (!e) e = posix_spawn(pid, binary, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return e ? pg_fail(error, PG_ENVIRONMENT, "cannot start %s: %s", binary, strerror(e)) : PG_OK;
}

/* Exit status; -1 when a signal ended it or somebody else reaped it. */
static int wait_for(pid_t pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What the command said: "perigee: message", and perhaps "\n  hint". */
static void tell(char *said, pg_code code, pg_error *error) {
  char *text = strncmp(said, "perigee: ", 9) == 0 ? said + 9 : said;
  size_t length = strlen(text);
  while (length && text[length - 1] == '\n') text[--length] = '\0';
  char *hint = strstr(text, "\n  ");
  if (hint) *hint = '\0';
  pg_fail(error, code, "%s", *text ? text : "the judge's process gave no record");
  if (hint) pg_hint(error, "%s", hint + 3);
}

/* The command prints one record, or says on its standard error why there is none. */
static pg_code take_record(int out, int err, int status, char **record, pg_error *error) {
  char *said = read_all(err);
  *record = read_all(out);
  pg_code code = PG_OK;
  if (!said || !*record) {
    code = pg_fail(error, PG_MEMORY, "no memory for a record");
  } else if (**record != '{') {
    code = status == 3 ? PG_ENVIRONMENT : status == -1 ? PG_CRASHED : PG_INVALID;
    tell(said, code, error);
  }
  free(said);
  if (code) {
    free(*record);
    *record = NULL;
  }
  return code;
}

static pg_code run(const char *binary, char **argv, char **record, pg_error *error) {
  pid_t pid;
  int out = memfd_create("record", MFD_CLOEXEC), err = memfd_create("messages", MFD_CLOEXEC);
  pg_code code = PG_OK;
  if (out < 0 || err < 0)
    code = pg_fail(error, PG_IO, "cannot make a file in memory: %s", strerror(errno));
  if (!code) code = spawn(binary, argv, out, err, &pid, error);
  if (!code) code = take_record(out, err, wait_for(pid), record, error);
  if (out >= 0) close(out);
  if (err >= 0) close(err);
  return code;
}

int pg_judge(const char *task, const char *candidate, const char *const *options, int option_count,
             char **record, pg_error *error) {
  char binary[PG_PATH_MAX];
  NEED(record);
  *record = NULL;
  NEED(task);
  NEED(candidate);
  int bad = pg_api_texts(__func__, "option", options, option_count, error);
  if (bad) return bad;
  pg_code code = pg_binary(binary, error);
  if (code) return (int)code;
  const char **argv = calloc((size_t)option_count + COMMAND_WORDS, sizeof *argv);
  if (!argv) return (int)pg_fail(error, PG_MEMORY, "no memory for a command");
  int n = 0;
  argv[n++] = "perigee";
  argv[n++] = "check";
  argv[n++] = "--json";
  for (int i = 0; i < option_count; i++) argv[n++] = options[i];
  argv[n++] = "--"; /* a name that begins with - is no option */
  argv[n++] = task;
  argv[n++] = candidate;
  code = run(binary, (char **)argv, record, error);
  free(argv);
  return (int)code;
}
