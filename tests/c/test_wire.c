/* Framed messages over a socket, and sealed shared memory, without a worker. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "judge/share.h"
#include "judge/wire.h"

static void broken_frames_are_told(void **state) {
  (void)state;
  int pair[2];
  char *text;
  size_t bytes;
  pg_error error = {0};
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, NULL, pg_now() + 0.05, &error),
                   PG_TIMEOUT);
  assert_int_equal(write(pair[1], "\5\0\0\0abc", 7), 7); /* 5 bytes are said, 3 come */
  assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, NULL, pg_now() + 0.05, &error),
                   PG_TIMEOUT);
  assert_int_equal(write(pair[1], "\5\0\0\0abc", 7), 7);
  close(pair[1]);
  assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, NULL, INFINITY, &error), PG_IO);
  assert_string_equal(error.message, "end of file inside a message");
  assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, NULL, INFINITY, &error), PG_IO);
  assert_string_equal(error.message, "end of file");
  assert_int_equal(pg_wire_send(pair[0], "x", 1, -1, INFINITY, &error), PG_IO);
  close(pair[0]);
}

static void a_message_over_the_limit_is_skipped(void **state) {
  (void)state;
  int pair[2];
  char *text;
  size_t bytes;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  pid_t writer = fork();
  if (writer == 0) {
    uint32_t length = PG_WIRE_MAX + 1U;
    char *zeros = calloc(1, length);
    FILE *f = fdopen(pair[1], "w");
    fwrite(&length, 4, 1, f);
    fwrite(zeros, 1, length, f);
    fwrite("\2\0\0\0ok", 1, 6, f);
    fflush(f);
    _exit(0);
  }
  assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, NULL, pg_now() + 60, NULL), PG_RANGE);
  assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, NULL, pg_now() + 60, NULL), PG_OK);
  assert_string_equal(text, "ok");
  assert_int_equal(bytes, 2);
  free(text);
  waitpid(writer, NULL, 0);
  close(pair[0]);
  close(pair[1]);
}

/* A descriptor arrives with its message, once, and one that nobody asked for is closed. */
static void a_descriptor_travels_with_a_message(void **state) {
  (void)state;
  int pair[2], tube[2], passed;
  char *text;
  size_t bytes;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  assert_int_equal(pipe(tube), 0);
  for (int wanted = 0; wanted < 2; wanted++) {
    assert_int_equal(pg_wire_send(pair[1], "take", 4, tube[1], INFINITY, NULL), PG_OK);
    assert_int_equal(pg_wire_send(pair[1], "none", 4, -1, INFINITY, NULL), PG_OK);
    passed = -2;
    assert_int_equal(
        pg_wire_receive(pair[0], &text, &bytes, wanted ? &passed : NULL, INFINITY, NULL), PG_OK);
    assert_string_equal(text, "take");
    free(text);
    if (wanted) {
      assert_int_equal(write(passed, "x", 1), 1);
      close(passed);
    }
    assert_int_equal(pg_wire_receive(pair[0], &text, &bytes, &passed, INFINITY, NULL), PG_OK);
    assert_int_equal(passed, -1);
    free(text);
  }
  close(tube[1]);
  char letters[2];
  assert_int_equal(read(tube[0], letters, 2), 1);
  assert_int_equal(read(tube[0], letters, 2),
                   0); /* the end: every copy of the other side is closed */
  close(tube[0]);
  close(pair[0]);
  close(pair[1]);
}

static void only_sealed_memory_of_the_right_size_is_mapped(void **state) {
  (void)state;
  pg_shared *shared;
  int pair[2], sealed;
  int loose = memfd_create("loose", MFD_ALLOW_SEALING);
  assert_int_equal(ftruncate(loose, 4096), 0);
  assert_int_equal(pg_shared_map(loose, 4096, &shared, NULL), PG_INVALID);
  assert_int_equal(pipe(pair), 0);
  assert_int_equal(pg_shared_map(pair[0], 1, &shared, NULL), PG_INVALID);
  pg_shared *own;
  assert_int_equal(pg_shared_new(4096, &own, &sealed, NULL), PG_OK);
  assert_int_equal(ftruncate(sealed, 0), -1); /* nobody can take pages away */
  assert_int_equal(ftruncate(sealed, 8192), -1);
  assert_int_equal(pg_shared_map(sealed, 4097, &shared, NULL), PG_INVALID);
  assert_int_equal(pg_shared_map(sealed, 4096, &shared, NULL), PG_OK);
  ((uint8_t *)own->data)[7] = 7;
  assert_int_equal(((uint8_t *)shared->data)[7], 7);
  pg_shared_release(shared);
  pg_shared_release(own);
  close(sealed);
  close(loose);
  close(pair[0]);
  close(pair[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(broken_frames_are_told),
      cmocka_unit_test(a_message_over_the_limit_is_skipped),
      cmocka_unit_test(a_descriptor_travels_with_a_message),
      cmocka_unit_test(only_sealed_memory_of_the_right_size_is_mapped),
  };
  return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
