/* PTX parser: what is wrong gets an error with the line, its text and what was expected; limits
 * hold. */
#include "ptx_tests.h"

typedef struct error_case {
  const char *text; /* behind HEADER: its first line is line 4 */
  int line;
  const char *reason; /* part of the message */
  const char *quoted; /* the offending line, which ends the message */
} error_case;

static pg_error error_of(const char *text, size_t bytes) {
  pg_error error = {0};
  ptx_module *module = (ptx_module *)1;
  pg_code code = ptx_parse(text, bytes, "bad.ptx", &module, &error);
  if (code == PG_OK) fail_msg("accepted: %s", text);
  assert_null(module);
  assert_int_equal(error.code, code);
  return error;
}

static void check_errors(const error_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char text[2048], where[32];
    int bytes = snprintf(text, sizeof text, "%s%s", HEADER, cases[i].text);
    pg_error error = error_of(text, (size_t)bytes);
    snprintf(where, sizeof where, "bad.ptx:%d", cases[i].line);
    size_t message = strlen(error.message), quoted = strlen(cases[i].quoted);
    if (error.code != PG_SYNTAX || strcmp(error.where, where) || message < quoted ||
        !strstr(error.message, cases[i].reason) ||
        strcmp(error.message + message - quoted, cases[i].quoted))
      fail_msg("%s\n  gave %s: %s", cases[i].text, error.where, error.message);
  }
}

#define CHECK_ERRORS(...)                          \
  static const error_case cases[] = {__VA_ARGS__}; \
  check_errors(cases, sizeof cases / sizeof *cases)

static void module_directives(void **state) {
  (void)state;
  CHECK_ERRORS({".frobnicate 3;", 4, "expected a directive of a module", ": .frobnicate 3;"},
               {"\n\n  mov.u32 a, b;", 6, "expected `:`, got `a`", ": mov.u32 a, b;"},
               {".address_size 32", 4, "only 64-bit addresses", ": .address_size 32"},
               {".target foo", 4, "expected a target such as sm_90, got `foo`", ": .target foo"},
               {".target sm_90, 3", 4, "expected an option", ": .target sm_90, 3"},
               {".version 9", 4, "expected a version such as 9.0", ": .version 9"},
               {".version 9.x", 4, "is not a number", ": .version 9.x"},
               {".section .debug_str\n{ .b8 1\n", 5, "a section is never closed", ": { .b8 1"},
               {".section foo { }", 4, "the name of a section", ": .section foo { }"},
               {".file 1 a.cu", 4, "expected a file name", ": .file 1 a.cu"},
               {".file 1 \"a.cu\n", 4, "a string is never closed", ": .file 1 \"a.cu"},
               {".pragma nounroll;", 4, "expected a string", ": .pragma nounroll;"},
               {"/* never\n\n closed", 4, "a comment is never closed", ": /* never"},
               {".visible ;", 4, "expected a directive of a module", ": .visible ;"},
               {".global .u32 x; # 1", 4, "a character that PTX does not use (0x23)", "x; # 1"},
               {".alias f, g;", 4, ".alias needs two functions", ": .alias f, g;"},
               {".func f();\n.func g();\n.alias f, g;", 6, "one with a body", ": .alias f, g;"});
}

static void variables(void **state) {
  (void)state;
  CHECK_ERRORS(
      {".global x;", 4, "expected a type, got `x`", ": .global x;"},
      {".global .u32;", 4, "expected a name, got `;`", ": .global .u32;"},
      {".global .u32 x", 4, "expected `,` or `;`, got the end of the text", ": .global .u32 x"},
      {".global .texref t;", 4, "expected a type or .align, got `.texref`", ": .global .texref t;"},
      {".global .pred p;", 4, "a predicate cannot be in memory", ": .global .pred p;"},
      {".global .align 3 .b8 x;", 4, "power of two, got 3", ": .global .align 3 .b8 x;"},
      {".global .align 131072 .b8 x;", 4, "at most 65536", ": .global .align 131072 .b8 x;"},
      {".global .u32 x[];", 4, "the size of `x` is missing", ": .global .u32 x[];"},
      {".global .u32 x[0];", 4, "must be 1 to 2^40", ": .global .u32 x[0];"},
      {".global .u32 x[2][];", 4, "only the first dimension", ": .global .u32 x[2][];"},
      {".global .u32 x[1048576][1048576];", 4, "larger than 2^40", "[1048576][1048576];"},
      {".global .u8 x[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1];", 4, "16 dimensions",
       "[1];"},
      {".global .u32 x;\n.global .u32 x;", 5, "`x` is declared twice", ": .global .u32 x;"},
      {".func x();\n.global .u32 x;", 5, "`x` is already a function", ": .global .u32 x;"},
      {".shared .u32 x = 1;", 4, "only .global and .const", ": .shared .u32 x = 1;"},
      {".global .u32 a.b;", 4, "expected a name, got `a.b`", ": .global .u32 a.b;"});
}

static void initial_values(void **state) {
  (void)state;
  CHECK_ERRORS(
      {".global .u32 x[2] = {1, 2, 3};", 4, "more initial values than elements", "2, 3};"},
      {".global .u32 x[2][2] = {{1, 2, 3}};", 4, "more initial values", "{{1, 2, 3}};"},
      {".global .u32 x[2] = {{1}};", 4, "expected a value, got `{`",
       ": .global .u32 x[2] = {{1}};"},
      {".global .u32 x[2] = 3;", 4, "expected `{`, got `3`", ": .global .u32 x[2] = 3;"},
      {".global .u32 x[2] = {1, 2;", 4, "expected `,` or `}`", "= {1, 2;"},
      {".global .u32 x = ;", 4, "expected a constant, got `;`", ": .global .u32 x = ;"},
      {".global .f32 x = 1;", 4, "a .f32 needs a float", ": .global .f32 x = 1;"},
      {".global .b8 x = 1.5;", 4, "a float cannot initialise a .b8", ": .global .b8 x = 1.5;"},
      {".global .u32 x = 1/0;", 4, "divided by zero", ": .global .u32 x = 1/0;"},
      {".global .u32 x = 1+1.5;", 4, "for integers only", ": .global .u32 x = 1+1.5;"},
      {".global .u64 x =\n nobody;", 5, "`nobody` is not declared", ": nobody;"},
      {".global .b8 x = y;", 4, "an address takes 8 bytes", ": .global .b8 x = y;"},
      {".global .b8 x[2] = {0xFF00(x), 1};", 4, "in order, from 0xFF on", "{0xFF00(x), 1};"},
      {".global .b8 x = 0xF0(x);", 4, "a mask selects one byte", ": .global .b8 x = 0xF0(x);"},
      {".global .u32 x = 0x;", 4, "`0x` is not a number: digits are missing", "= 0x;"},
      {".global .u32 x = 12ab;", 4, "`12ab` is not a number", "= 12ab;"},
      {".global .u32 x = 08;", 4, "`08` is not a number", "= 08;"},
      {".global .f32 x = 0f3F8000;", 4, "0f takes 8 digits", "= 0f3F8000;"},
      {".global .u64 x = 18446744073709551616;", 4, "exceeds 64 bits", "= 18446744073709551616;"});
}

static void functions(void **state) {
  (void)state;
  CHECK_ERRORS(
      {".entry k(.param .u32 a {", 4, "expected `,` or `)`", ": .entry k(.param .u32 a {"},
      {".entry k(.u32 a) { }", 4, "expected .param or .reg", ": .entry k(.u32 a) { }"},
      {".entry k() .fast { }", 4, "a directive of a function, got `.fast`", "{ }"},
      {".entry k() 3", 4, "expected `{` or `;`, got `3`", ": .entry k() 3"},
      {".entry k() .maxntid x { }", 4, "expected a block size, got `x`", ".maxntid x { }"},
      {".entry k()\n{\n ret;\n", 5, "a `{` is never closed", ": {"},
      {".entry k() { ret; }\n.entry k() { }", 5, "`k` is defined twice", ": .entry k() { }"},
      {".global .u32 k;\n.entry k() { }", 5, "`k` is already a variable", ": .entry k() { }"},
      {".entry k() { ret; } }", 4, "expected a directive of a module", "ret; } }"},
      {".entry k(.param .u32 a, .param .u32 a) { }", 4, "`a` is declared twice", "{ }"});
}

static void bodies(void **state) {
  (void)state;
  CHECK_ERRORS(
      {".entry k() {\n .frob 1;\n}", 5, "a directive of a function body, got `.frob`",
       ": .frob 1;"},
      {".entry k() {\n 3;\n}", 5, "expected an instruction, got `3`", ": 3;"},
      {".entry k() {\n %r1 = 3;\n}", 5, "expected an instruction, got `%r1`", ": %r1 = 3;"},
      {".entry k() {\n .reg .b32 a;\n add.s32 a, a, 1\n sub.s32 a, a, 1;\n}", 7,
       "expected `,` or `;`, got `sub.s32`", ": sub.s32 a, a, 1;"},
      {".entry k() {\n add.s32 , 1;\n}", 5, "expected an operand, got `,`", ": add.s32 , 1;"},
      {".entry k() {\n .reg .b32 %r<3>;\n\n mov.b32 %r0, %r3;\n}", 7,
       "`%r3` is neither a declared register nor a special register", ": mov.b32 %r0, %r3;"},
      {".entry k() {\n mov.b32 %tid.q, 3;\n}", 5, "`%tid.q` is neither", ": mov.b32 %tid.q, 3;"},
      {".entry k() {\n mov.b32 %r01, 3; .reg .b32 %r<9>;\n}", 5, "`%r01` is neither", "%r<9>;"},
      {".entry k() {\n x.y nobody;\n}", 5, "`nobody` is not declared", ": x.y nobody;"},
      {".entry k() {\n bra nowhere;\n}", 5, "the label `nowhere` is missing", ": bra nowhere;"},
      {".entry k() {\n x L+4; L:\n}", 5, "`L` cannot have an offset", ": x L+4; L:"},
      {".entry k() {\n { L: }\n bra L;\n}", 6, "the label `L` is missing", ": bra L;"},
      {".entry k() {\n { .reg .b32 t; }\n x t;\n}", 6, "`t` is not declared", ": x t;"},
      {".entry k() {\n { .shared .b32 t; }\n x t;\n}\n.global .b32 t;", 6, "`t` is not declared",
       "x t;"},
      {".entry k() {\n L:\n L:\n}", 6, "`L` is declared twice in one scope", ": L:"},
      {".entry k() {\n .reg .b32 a, a;\n}", 5, "`a` is declared twice", ": .reg .b32 a, a;"},
      {".entry k() {\n .reg .b32 a<2>, a<3>;\n}", 5, "`a<...>` is declared twice", "a<3>;"},
      {".entry k() {\n .reg .b32 a1<4>;\n}", 5, "must not end in a digit", ": .reg .b32 a1<4>;"},
      {".entry k() {\n .reg .v4 .b32 a;\n}", 5, "registers of vector type", ": .reg .v4 .b32 a;"},
      {".entry k() {\n .reg .b32 a;\n @a ret;\n}", 6, "`a` is not a predicate register",
       ": @a ret;"},
      {".entry k() {\n .reg .pred p;\n @p { ret; }\n}", 6, "expected an instruction, got `{`", "}"},
      {".entry k() {\n .reg .b32 a;\n x !a;\n}", 6, "`!` needs a predicate register", ": x !a;"},
      {".entry k() {\n x [1.5];\n}", 5, "an address starts with", ": x [1.5];"},
      {".entry k() {\n x [1;\n}", 5, "expected `]`", ": x [1;"},
      {".entry k() {\n x {1;\n}", 5, "expected `,` or `}`", ": x {1;"},
      {".entry k() {\n call f, (1;\n}", 5, "expected `,` or `)`", ": call f, (1;"},
      {".entry k() {\n x {{1}};\n}", 5, "expected an operand, got `{`", ": x {{1}};"},
      {".entry k() {\n .loc 1 2;\n}", 5, "expected a column, got `;`", ": .loc 1 2;"},
      {".entry k() {\n .loc 1 2 3, foo 1\n}", 5, "`foo` is no attribute of .loc", "foo 1"},
      {".entry k() {\n t: .branchtargets L;\n}", 5, "the label `L` is missing",
       ": t: .branchtargets L;"},
      {".entry k() {\n t: .calltargets f;\n}", 5, "`f` is not declared", ": t: .calltargets f;"});
}

static void a_module_begins_with_its_version(void **state) {
  (void)state;
  pg_error error = error_of("\n// c\n.target sm_90", 18);
  assert_string_equal(error.where, "bad.ptx:3");
  assert_non_null(strstr(error.message, "expected .version"));
  error = error_of("", 0);
  assert_string_equal(error.where, "bad.ptx:1");
  error = error_of(".version 9.0\n", 13);
  assert_non_null(strstr(error.message, "no .target"));
}

static void a_zero_byte_is_no_end(void **state) {
  (void)state;
  static const char text[] = HEADER ".global .b8 x;\n\0.global .b8 y;";
  pg_error error = error_of(text, sizeof text - 1);
  assert_string_equal(error.where, "bad.ptx:5");
  assert_non_null(strstr(error.message, "0x00"));
}

static void a_very_long_line_is_quoted_around_the_place(void **state) {
  (void)state;
  size_t pad = 100000;
  char *text = malloc(pad + 200);
  assert_non_null(text);
  size_t n = (size_t)sprintf(text, HEADER ".global .b8 x = ");
  memset(text + n, ' ', pad);
  strcpy(text + n + pad, "oops!; // the rest of this line");
  pg_error error = error_of(text, strlen(text));
  assert_non_null(strstr(error.message, "oops!"));
  assert_true(strlen(error.message) < 600);
  free(text);
}

/* --- limits ------------------------------------------------------------------------------------
 */

static char *repeated(const char *head, const char *part, size_t times, const char *tail) {
  size_t length = strlen(part), first = strlen(head);
  char *text = malloc(first + times * length + strlen(tail) + 1);
  assert_non_null(text);
  memcpy(text, head, first);
  for (size_t i = 0; i < times; i++) memcpy(text + first + i * length, part, length);
  strcpy(text + first + times * length, tail);
  return text;
}

static void check_limit(const char *head, const char *part, size_t times, const char *tail,
                        pg_code code, const char *reason) {
  char *text = repeated(head, part, times, tail);
  pg_error error = error_of(text, strlen(text));
  free(text);
  if (error.code != code || !strstr(error.message, reason)) fail_msg("%s", error.message);
}

static void nesting_is_bounded(void **state) {
  (void)state;
  check_limit(HEADER ".entry k() {", "{", 100000, "", PG_SYNTAX, "nested scopes");
  check_limit(HEADER ".global .u32 x = ", "(", 100000, "", PG_SYNTAX, "nested too deeply");
  check_limit(HEADER ".global .u32 x = ", "- ", 100000, "1;", PG_SYNTAX, "nested too deeply");
  check_limit(HEADER ".global .u32 x = ", "1?", 100000, "", PG_SYNTAX, "nested too deeply");
  check_limit(HEADER ".entry k() { ld", ".global", 100000, ";}", PG_SYNTAX,
              "more than 64 modifiers");
  check_limit(HEADER ".entry k() { ld", " .global", 100, ";}", PG_SYNTAX, "too many modifiers");
}

static void sizes_are_bounded(void **state) {
  (void)state;
  check_limit(HEADER "//", "0123456789abcdef", 4 << 20, "", PG_MEMORY, "64 MiB");
  check_limit(HEADER ".entry k() {", "ret;", (4 << 20) + 1, "}", PG_MEMORY, "4194304 instructions");
  check_limit(HEADER, "", 0, ".global .b8 x[2000000000] = {1};", PG_MEMORY, "1 GiB");
}

static void registers_are_bounded(void **state) {
  (void)state;
  size_t count = (1 << 20) + 1;
  char *text = malloc(count * 32 + 128), *end = text;
  assert_non_null(text);
  end += sprintf(end, HEADER ".entry k() { .reg .b32 %%r<2000000000>;");
  for (size_t i = 0; i < count; i++) end += sprintf(end, "x %%r%zu;", i);
  strcpy(end, "}");
  pg_error error = error_of(text, strlen(text));
  assert_int_equal(error.code, PG_MEMORY);
  assert_non_null(strstr(error.message, "1048576 registers"));
  free(text);
}

static void an_error_may_be_ignored(void **state) {
  (void)state;
  ptx_module *module;
  assert_int_equal(ptx_parse("?", 1, "t", &module, NULL), PG_SYNTAX);
  assert_null(module);
  ptx_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(module_directives),
      cmocka_unit_test(variables),
      cmocka_unit_test(initial_values),
      cmocka_unit_test(functions),
      cmocka_unit_test(bodies),
      cmocka_unit_test(a_module_begins_with_its_version),
      cmocka_unit_test(a_zero_byte_is_no_end),
      cmocka_unit_test(a_very_long_line_is_quoted_around_the_place),
      cmocka_unit_test(nesting_is_bounded),
      cmocka_unit_test(sizes_are_bounded),
      cmocka_unit_test(registers_are_bounded),
      cmocka_unit_test(an_error_may_be_ignored),
  };
  return cmocka_run_group_tests_name("ptx_error", tests, NULL, NULL);
}
