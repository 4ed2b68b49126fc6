/* The ffi and its state: one that moves to another thread keeps its callbacks, a callback from a
 * thread that the C function started is an error of the call, and so is a call after the end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <lualib.h>

#include "bind/bind.h"

PG_API int ffi_test_call(int (*f)(int), int v);
PG_API int ffi_test_call_elsewhere(int (*f)(int), int v);

int ffi_test_call(int (*f)(int), int v) {
  return f(v);
}

typedef struct job {
  int (*f)(int);
  int value;
} job;

static void *run_job(void *data) {
  job *j = data;
  j->value = j->f(j->value);
  return NULL;
}

int ffi_test_call_elsewhere(int (*f)(int), int v) {
  job j = {f, v};
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_job, &j)) return -1;
  pthread_join(thread, NULL);
  return j.value;
}

static lua_State *open_state(void) {
  lua_State *L = luaL_newstate();
  assert_non_null(L);
  luaL_openlibs(L);
  luaL_requiref(L, "perigee.core", luaopen_perigee_core, 0);
  luaL_requiref(L, "ffi", luaopen_ffi, 1);
  assert_int_equal(luaL_dostring(L, "ffi.cdef [[ int ffi_test_call(int (*f)(int), int v);"
                                    " int ffi_test_call_elsewhere(int (*f)(int), int v); ]]"),
                   LUA_OK);
  lua_settop(L, 0);
  return L;
}

static void *call_back(void *state) {
  return luaL_dostring(state, "assert(ffi.C.ffi_test_call(function(v) return v * 2 end, 21) == 42)")
             ? state
             : NULL;
}

static void a_state_may_move_to_another_thread(void **state) {
  (void)state;
  lua_State *L = open_state();
  pthread_t thread;
  void *failed = L;
  assert_int_equal(pthread_create(&thread, NULL, call_back, L), 0);
  assert_int_equal(pthread_join(thread, &failed), 0);
  assert_null(failed);
  assert_null(call_back(L));
  lua_close(L);
}

static void a_callback_from_another_thread_is_an_error(void **state) {
  (void)state;
  lua_State *L = open_state();
  assert_int_not_equal(
      luaL_dostring(L, "return ffi.C.ffi_test_call_elsewhere(function(v) return v end, 1)"),
      LUA_OK);
  assert_non_null(strstr(luaL_tolstring(L, -1, NULL), "from another thread"));
  assert_null(call_back(L)); /* and the next call is as good as ever */
  lua_close(L);
}

/* Calls everything in `ffi`, and what was got from it; counts the errors that are the right one. */
static const char finalizer[] =
    "local calls, errors = 0, 0\n"
    "local function try(f, ...)\n"
    "  local ok, e = pcall(f, ...)\n"
    "  calls = calls + 1\n"
    "  if not ok and type(e) == 'table' and e.message:find 'is being closed' then\n"
    "    errors = errors + 1\n"
    "  end\n"
    "end\n"
    "for name, f in pairs(ffi) do\n"
    "  if type(f) == 'function' and name ~= 'abi' then try(f, 'int', 1, 1) end\n"
    "end\n"
    "try(abs, -5) try(callback, 5) try(point)\n"
    "try(function() return point().x end)\n"
    "try(function() return made.x end) try(function() made.x = 1 end)\n"
    "try(function() return made + 1 end) try(function() return made == point end)\n"
    "try(function() return callback:free() end) try(free, callback)\n"
    "try(function() return tostring(made) end) try(function() return ffi.C.labs end)\n"
    "note(calls, errors)\n";

static int note(lua_State *L) {
  int *counts = lua_touserdata(L, lua_upvalueindex(1));
  for (int i = 0; i < 2; i++) counts[i] = (int)lua_tointeger(L, i + 1);
  return 0;
}

/* An object older than the ffi: its finalizer runs when the ffi has ended. */
static void a_call_after_the_end_is_an_error(void **state) {
  (void)state;
  int counts[2] = {0, 0};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  assert_int_equal(luaL_loadstring(L, finalizer), LUA_OK);
  lua_setglobal(L, "finalize");
  lua_pushlightuserdata(L, counts);
  lua_pushcclosure(L, note, 1);
  lua_setglobal(L, "note");
  assert_int_equal(
      luaL_dostring(L, "oldest = setmetatable({}, { __gc = function() finalize() end })"), LUA_OK);
  luaL_requiref(L, "perigee.core", luaopen_perigee_core, 0);
  luaL_requiref(L, "ffi", luaopen_ffi, 1);
  assert_int_equal(luaL_dostring(L,
                                 "ffi.cdef 'int abs(int); long labs(long);'\n"
                                 "abs, point = ffi.C.abs, ffi.typeof 'struct { int x; }'\n"
                                 "made = point(3)\n"
                                 "callback = ffi.cast('int (*)(int)', function(v) return v end)\n"
                                 "free = callback.free"),
                   LUA_OK);
  lua_close(L);
  assert_true(counts[0] > 25);
  assert_int_equal(counts[0], counts[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_may_move_to_another_thread),
      cmocka_unit_test(a_callback_from_another_thread_is_an_error),
      cmocka_unit_test(a_call_after_the_end_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
