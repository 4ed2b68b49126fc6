/* The ffi and threads: a state that moves to another thread keeps its callbacks, and a callback
 * from a thread that the C function started is an error of the call, not a crash. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_may_move_to_another_thread),
      cmocka_unit_test(a_callback_from_another_thread_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
