/* The command `perigee`: opens Lua, finds its library, and hands over to lua/perigee/cli.lua.
 * --version and the worker role end before any of that. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lualib.h>

#include "bind/bind.h"
#include "judge/worker.h"
#include "bind/expert.h"

enum { EXIT_USAGE = 2, EXIT_ENVIRONMENT = 3 };

/* Message handler: the text that the user reads. An error table says what, where and how to mend
 * it; anything else is a defect and gets a traceback. Upvalue 1 points to the exit status. */
static int on_error(lua_State *L) {
  int *status = lua_touserdata(L, lua_upvalueindex(1));
  if (!lua_istable(L, 1)) {
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
  }
  lua_getfield(L, 1, "code");
  const char *code = lua_tostring(L, -1);
  if (code && (strcmp(code, pg_code_name(PG_ENVIRONMENT)) == 0 ||
               strcmp(code, pg_code_name(PG_MEMORY)) == 0))
    *status = EXIT_ENVIRONMENT; /* what the machine lacks */
  lua_settop(L, 1);
  if (!lua_getmetatable(L, 1)) luaL_setmetatable(L, PG_ERROR_META);
  luaL_tolstring(L, 1, NULL);
  return 1;
}

static void set_arguments(lua_State *L, int argc, char **argv) {
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; i++) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i);
  }
  lua_pushvalue(L, -1);
  lua_setglobal(L, "arg");
}

/* Everything that can raise. Arguments: argc and argv as pointers; result: the exit status. */
static int run(lua_State *L) {
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_openlibs(L);
  pg_lua_provide(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "perigee.cli");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "main");
  set_arguments(L, argc, argv);
  lua_call(L, 1, 1);
  return 1;
}

/* Why output was lost some time ago: what failed then fails again, or only part is lost. */
static const char *reason_of_loss(void) {
  clearerr(stdout);
  bool fails = fputc('\n', stdout) == EOF || fflush(stdout) == EOF;
  return fails ? strerror(errno) : "part of it is lost";
}

/* Output that was lost is a failure: a full disk, a closed descriptor. */
static int finish(int status) {
  bool lost = ferror(stdout) != 0;
  if (fflush(stdout) == 0 && !lost) return status;
  const char *reason = lost ? reason_of_loss() : strerror(errno);
  fprintf(stderr, "perigee: cannot write the output: %s\n", reason);
  return status ? status : EXIT_USAGE;
}

/* Descriptors 0 to 2 are taken before anything else is opened: a socket to a worker that got number
 * 1, because the caller had closed it, would carry off what is printed. Writing to the stand-in for
 * a closed standard output fails, as it must. */
static void hold_standard_streams(void) {
  static const int access[] = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", access[fd]);
}

/* What the caller may have left ignored. SIGPIPE: `perigee list | head` ends quietly. SIGCHLD: how
 * a worker died must not be thrown away, nor its number given to another process. SIGXFSZ: a file
 * that may not grow (ulimit -f) is an error as a full disk is, not the end. */
static void settle_signals(void) {
  signal(SIGPIPE, SIG_DFL);
  signal(SIGCHLD, SIG_DFL);
  signal(SIGXFSZ, SIG_IGN);
}

/* A worker; one that is trusted opens Lua when it is asked to. */
static int work(int argc, char **argv) {
  signal(SIGXFSZ, SIG_DFL); /* what candidates bring with them ends at its limits */
  pg_lua_expert lua = {0};
  const pg_expert expert = pg_lua_expert_of(&lua);
  int status = pg_worker_main(argc, argv, &expert);
  pg_lua_expert_close(&lua);
  return status;
}

/* Arrays go back to the system when they are freed. By itself malloc takes up to 32 MiB from its
 * heap once such blocks were freed, where aligned blocks leave holes: a judge of 300 candidates
 * grew by 80 MB. */
static void give_back_arrays(void) {
  mallopt(M_MMAP_THRESHOLD, 1 << 18);
}

int main(int argc, char **argv) {
  hold_standard_streams();
  if (argc > 1 && strcmp(argv[1], "--version") == 0) {
    printf("perigee %s (%s)\n", PG_VERSION, LUA_RELEASE);
    return finish(0);
  }
  if (argc > 1 && strcmp(argv[1], "--worker") == 0) return work(argc, argv);
  settle_signals();
  give_back_arrays();
  lua_State *L = luaL_newstate();
  if (!L) {
    fprintf(stderr, "perigee: no memory for the Lua state\n");
    return EXIT_ENVIRONMENT;
  }
  int status = EXIT_USAGE;
  lua_pushlightuserdata(L, &status);
  lua_pushcclosure(L, on_error, 1);
  lua_pushcfunction(L, run);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int result = lua_pcall(L, 2, 1, 1);
  if (result == LUA_OK) {
    status = (int)lua_tointeger(L, -1);
  } else {
    if (result == LUA_ERRMEM) status = EXIT_ENVIRONMENT; /* the message handler is not called */
    fflush(stdout);
    fprintf(stderr, "perigee: %s\n", lua_tostring(L, -1));
  }
  lua_close(L);
  return finish(status);
}
