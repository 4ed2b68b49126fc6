/* Error codes and values: names, formatting, truncation, absence.
 * Also SHA-256, against the vectors of FIPS 180-4. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hash.h"

static void every_code_has_a_name_that_parses_back(void **state) {
  (void)state;
  for (int i = 0; i < PG_CODE_COUNT; i++) {
    assert_int_equal(pg_code_parse(pg_code_name((pg_code)i)), i);
    assert_true(strlen(pg_code_text((pg_code)i)) > 5 || i == PG_OK);
  }
  assert_string_equal(pg_code_name(PG_MEMORY), "out_of_memory");
  assert_int_equal(PG_OK, 0);
}

static void a_number_that_is_no_code_reads_as_a_question_mark(void **state) {
  (void)state;
  assert_string_equal(pg_code_name(PG_CODE_COUNT), "?");
  assert_string_equal(pg_code_text((pg_code)-1), "?");
  assert_int_equal(pg_code_parse("no such"), PG_CODE_COUNT);
  assert_int_equal(pg_code_parse(""), PG_CODE_COUNT);
}

static void fail_sets_the_message_and_clears_the_rest(void **state) {
  (void)state;
  pg_error e;
  assert_int_equal(pg_fail(&e, PG_IO, "first"), PG_IO);
  assert_int_equal(pg_hint(&e, "hint %d", 1), PG_IO);
  assert_int_equal(pg_where(&e, "%s:%d", "file", 3), PG_IO);
  assert_string_equal(e.hint, "hint 1");
  assert_string_equal(e.where, "file:3");
  assert_int_equal(pg_fail(&e, PG_RANGE, "got %d, expected %s", 7, "less"), PG_RANGE);
  assert_int_equal(e.code, PG_RANGE);
  assert_string_equal(e.message, "got 7, expected less");
  assert_string_equal(e.hint, "");
  assert_string_equal(e.where, "");
}

static void a_message_may_quote_the_error_that_it_replaces(void **state) {
  (void)state;
  pg_error e;
  pg_fail(&e, PG_IO, "disk full");
  pg_where(&e, "a.lua:1");
  pg_fail(&e, PG_INTERNAL, "while saving: %s (%s)", e.message, e.where);
  assert_string_equal(e.message, "while saving: disk full (a.lua:1)");
}

static void long_texts_are_cut(void **state) {
  (void)state;
  pg_error e;
  char text[3 * PG_MESSAGE_MAX];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  pg_fail(&e, PG_IO, "%s", text);
  pg_hint(&e, "%s", text);
  pg_where(&e, "%s", text);
  assert_int_equal(strlen(e.message), PG_MESSAGE_MAX - 1);
  assert_int_equal(strlen(e.hint), PG_HINT_MAX - 1);
  assert_int_equal(strlen(e.where), PG_WHERE_MAX - 1);
}

static void without_an_error_the_call_still_fails(void **state) {
  (void)state;
  assert_int_equal(pg_fail(NULL, PG_TIMEOUT, "%d", 1), PG_TIMEOUT);
  assert_int_not_equal(pg_hint(NULL, "x"), PG_OK);
  assert_int_not_equal(pg_where(NULL, "x"), PG_OK);
}

static void sha256_gives_the_published_digests(void **state) {
  (void)state;
  char hex[PG_SHA_HEX];
  pg_sha256("abc", 3, hex);
  assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  pg_sha256(NULL, 0, hex);
  assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  pg_sha256(two_blocks, strlen(two_blocks), hex);
  assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  char *million = malloc(1000000);
  memset(million, 'a', 1000000);
  pg_sha256(million, 1000000, hex);
  free(million);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_code_has_a_name_that_parses_back),
      cmocka_unit_test(a_number_that_is_no_code_reads_as_a_question_mark),
      cmocka_unit_test(fail_sets_the_message_and_clears_the_rest),
      cmocka_unit_test(a_message_may_quote_the_error_that_it_replaces),
      cmocka_unit_test(long_texts_are_cut),
      cmocka_unit_test(without_an_error_the_call_still_fails),
      cmocka_unit_test(sha256_gives_the_published_digests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
