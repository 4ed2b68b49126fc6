/* The C types of the ffi against the compiler that builds this: sizes, places of members, bits.
 * And the parser's bounds and messages. What calls and values do is tests/ffi/shared.lua. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ffi/parse.h"

/* Each is compiled and, as text, parsed. */
#define STRUCTS(X)                           \
  X(                                         \
      chars, struct chars {                  \
        char a;                              \
        short b;                             \
        char c;                              \
        int d;                               \
        char e;                              \
        double f;                            \
        char g;                              \
      })                                     \
  X(                                         \
      packed, struct packed {                \
        char a;                              \
        int b;                               \
        double c;                            \
        short d;                             \
      } __attribute__((packed)))             \
  X(                                         \
      aligned, struct aligned {              \
        char a;                              \
        int b __attribute__((aligned(16)));  \
        char c;                              \
      })                                     \
  X(                                         \
      member_packed, struct member_packed {  \
        char a;                              \
        int b __attribute__((packed));       \
        double c;                            \
      })                                     \
  X(                                         \
      both, struct both {                    \
        char a;                              \
        int b;                               \
      } __attribute__((packed, aligned(4)))) \
  X(                                         \
      nested, struct nested {                \
        char a;                              \
        struct {                             \
          short b;                           \
          struct {                           \
            char c;                          \
            int d;                           \
          };                                 \
        } in;                                \
        char e;                              \
      })                                     \
  X(                                         \
      unions, struct unions {                \
        char a;                              \
        union {                              \
          double b;                          \
          char c[9];                         \
        };                                   \
        char d;                              \
      })                                     \
  X(                                         \
      arrays, struct arrays {                \
        char a[3];                           \
        short b[2][3];                       \
        char c;                              \
        int64_t d[2];                        \
      })                                     \
  X(                                         \
      pointers, struct pointers {            \
        char a;                              \
        void *b;                             \
        int (*c)(int, char);                 \
        char d;                              \
        const char *e[2];                    \
      })                                     \
  X(                                         \
      flexible, struct flexible {            \
        int a;                               \
        char b;                              \
        short c[];                           \
      })                                     \
  X(                                         \
      longs, struct longs {                  \
        char a;                              \
        long double b;                       \
        char c;                              \
        bool d;                              \
        float e;                             \
      })                                     \
  X(                                         \
      bits1, struct bits1 {                  \
        unsigned a : 3, b : 5;               \
        int c : 17;                          \
        unsigned d : 9;                      \
      })                                     \
  X(                                         \
      bits2, struct bits2 {                  \
        char a;                              \
        unsigned b : 4;                      \
        char c;                              \
        unsigned d : 30;                     \
        unsigned e : 3;                      \
      })                                     \
  X(                                         \
      bits3, struct bits3 {                  \
        unsigned char a : 3;                 \
        unsigned b : 20;                     \
        uint64_t c : 40;                     \
        short d : 9;                         \
      })                                     \
  X(                                         \
      bits4, struct bits4 {                  \
        int a : 5;                           \
        int : 0;                             \
        int b : 6;                           \
        int : 3;                             \
        int c : 7;                           \
        bool d : 1;                          \
      })                                     \
  X(                                         \
      bits5, struct bits5 {                  \
        char a : 3;                          \
        int b : 14;                          \
        short c;                             \
      } __attribute__((packed)))

/* Members whose types are typedefs with an alignment of their own, and no other size. */
#define ALIGNED(X)                                                                                \
  X(                                                                                              \
      in_int, typedef int low_int __attribute__((aligned(2))); struct in_int {                    \
        char a;                                                                                   \
        low_int b;                                                                                \
        char c;                                                                                   \
      })                                                                                          \
  X(                                                                                              \
      in_struct, struct s { short a; }; typedef struct s high_s __attribute__((aligned(8)));      \
      struct in_struct {                                                                          \
        char a;                                                                                   \
        high_s b;                                                                                 \
        char c;                                                                                   \
        const high_s d;                                                                           \
        char e[sizeof(high_s)];                                                                   \
      })                                                                                          \
  X(                                                                                              \
      in_array, typedef const short high_array[3] __attribute__((aligned(16))); struct in_array { \
        char a;                                                                                   \
        high_array b;                                                                             \
        char c[_Alignof(high_array)];                                                             \
        char d;                                                                                   \
      })

/* Widths in gcc's words; LuaJIT takes `word` for an int. */
#define MODES(X)                                                     \
  X(                                                                 \
      modes, typedef int t_word __attribute__((__mode__(__word__))); \
      typedef unsigned t_pointer __attribute__((mode(pointer)));     \
      typedef float t_double __attribute__((mode(DF)));              \
      typedef long t_qi __attribute__((mode(QI))); struct modes {    \
        char a;                                                      \
        t_word b;                                                    \
        t_qi c;                                                      \
        t_double d;                                                  \
        short e __attribute__((mode(SI)));                           \
        t_pointer f;                                                 \
        char g[(t_pointer)-1 > 0 ? 3 : 5];                           \
      })

/* Not C11's, but what headers have. */
#define ENUMS(X)                                                                    \
  X(                                                                                \
      enums, enum t_int{A_1 = -1, A_2 = 0x7fffffff}; enum t_uint{B_1 = 0xffffffff}; \
      enum t_long{C_1 = -1, C_2 = 0x80000000}; enum t_wide{D_1 = 1ull << 40, D_2};  \
      enum t_huge{E_1 = 0x7fffffffffffffffull, E_2}; struct enums {                 \
        char a;                                                                     \
        enum t_int b;                                                               \
        char c;                                                                     \
        enum t_uint d;                                                              \
        char e;                                                                     \
        enum t_long f;                                                              \
        char g;                                                                     \
        enum t_wide h;                                                              \
        char i;                                                                     \
        enum t_huge j;                                                              \
        char k[(enum t_int) - 1 < 0 ? 1 : 2];                                       \
        char l[(enum t_uint) - 1 < 0 ? 1 : 2];                                      \
        char m[(enum t_long) - 1 < 0 ? 1 : 2];                                      \
        char n[(enum t_huge) - 1 < 0 ? 1 : 2];                                      \
        char o[D_2 == (1ull << 40) + 1 ? 1 : 2];                                    \
      })

#define WORDS(X)                \
  X(                            \
      words, struct words {     \
        char a;                 \
        float _Complex b;       \
        char c;                 \
        _Complex double d;      \
        char e;                 \
        __int128 f;             \
        char g;                 \
        unsigned __int128 h;    \
        char i;                 \
        long double _Complex j; \
        char k;                 \
      })
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wtype-limits"

#define DEFINE(name, ...) __VA_ARGS__;
STRUCTS(DEFINE)
MODES(DEFINE)
WORDS(DEFINE)
ENUMS(DEFINE)
ALIGNED(DEFINE)

static const struct {
  const char *name, *text;
  size_t size, align;
} SIZES[] = {
#define ROW(name, ...) {#name, #__VA_ARGS__ ";", sizeof(struct name), _Alignof(struct name)},
    STRUCTS(ROW) ALIGNED(ROW) MODES(ROW) WORDS(ROW) ENUMS(ROW)};

static ct_table *declared(void) {
  ct_table *table = ct_table_new();
  pg_error error;
  assert_non_null(table);
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
    if (ct_declare_text(table, SIZES[i].text, strlen(SIZES[i].text), NULL, 0, &error))
      fail_msg("%s: %s", SIZES[i].name, error.message);
  return table;
}

static const ctype *tagged(const ct_table *table, const char *name) {
  const ct_symbol *symbol = ct_find(table, name, strlen(name), true);
  assert_non_null(symbol);
  return symbol->type;
}

static void sizes_are_the_compilers(void **state) {
  (void)state;
  ct_table *table = declared();
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    const ctype *type = tagged(table, SIZES[i].name);
    if (type->size != SIZES[i].size || type->align != SIZES[i].align)
      fail_msg("%s: %zu bytes aligned to %u, the compiler says %zu and %zu", SIZES[i].name,
               type->size, type->align, SIZES[i].size, SIZES[i].align);
  }
  ct_table_free(table);
}

static void members_lie_where_the_compiler_puts_them(void **state) {
  (void)state;
#define PLACE(tag, member) \
  { #tag, #member, offsetof(struct tag, member) }
  static const struct {
    const char *tag, *member;
    size_t offset;
  } places[] = {
      PLACE(chars, b),         PLACE(chars, d),         PLACE(chars, f),     PLACE(chars, g),
      PLACE(packed, c),        PLACE(packed, d),        PLACE(aligned, b),   PLACE(aligned, c),
      PLACE(member_packed, b), PLACE(member_packed, c), PLACE(both, b),      PLACE(nested, in),
      PLACE(nested, e),        PLACE(unions, b),        PLACE(unions, c),    PLACE(unions, d),
      PLACE(arrays, b),        PLACE(arrays, c),        PLACE(arrays, d),    PLACE(pointers, c),
      PLACE(pointers, d),      PLACE(pointers, e),      PLACE(flexible, c),  PLACE(longs, b),
      PLACE(longs, d),         PLACE(longs, e),         PLACE(bits2, c),     PLACE(bits5, c),
      PLACE(in_int, b),        PLACE(in_int, c),        PLACE(in_struct, b), PLACE(in_struct, c),
      PLACE(in_struct, d),     PLACE(in_struct, e),     PLACE(in_array, b),  PLACE(in_array, c),
      PLACE(in_array, d),      PLACE(modes, b),         PLACE(modes, c),     PLACE(modes, d),
      PLACE(modes, e),         PLACE(modes, f),         PLACE(modes, g),     PLACE(words, b),
      PLACE(words, d),         PLACE(words, f),         PLACE(words, h),     PLACE(words, j),
      PLACE(words, k),         PLACE(enums, d),         PLACE(enums, f),     PLACE(enums, h),
      PLACE(enums, j),         PLACE(enums, k),         PLACE(enums, l),     PLACE(enums, m),
      PLACE(enums, n),         PLACE(enums, o)};
  ct_table *table = declared();
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    size_t offset = 0;
    const ct_field *field = ct_member(tagged(table, places[i].tag), places[i].member, &offset);
    assert_non_null(field);
    if (offset != places[i].offset)
      fail_msg("%s.%s at %zu, the compiler says %zu", places[i].tag, places[i].member, offset,
               places[i].offset);
  }
  ct_table_free(table);
}

/* The bits that are set in `bytes` are those of the member, and no others. */
static void check_bits(const ct_table *table, const char *tag, const char *member,
                       const unsigned char *bytes, size_t size) {
  size_t offset = 0;
  const ct_field *field = ct_member(tagged(table, tag), member, &offset);
  assert_non_null(field);
  size_t first = offset * 8 + field->bit;
  for (size_t bit = 0; bit < size * 8; bit++) {
    bool want = bytes[bit / 8] >> bit % 8 & 1, got = bit >= first && bit < first + field->bits;
    if (want != got)
      fail_msg("%s.%s: bits %zu to %zu, bit %zu is %d", tag, member, first, first + field->bits - 1,
               bit, want);
  }
}

static void bits_are_the_compilers(void **state) {
  (void)state;
  ct_table *table = declared();
#define BITS(tag, member)                                      \
  do {                                                         \
    union {                                                    \
      struct tag value;                                        \
      unsigned char bytes[sizeof(struct tag)];                 \
    } u;                                                       \
    memset(&u, 0, sizeof u);                                   \
    u.value.member--; /* all ones */                           \
    check_bits(table, #tag, #member, u.bytes, sizeof u.bytes); \
  } while (0)
  BITS(bits1, a);
  BITS(bits1, b);
  BITS(bits1, c);
  BITS(bits1, d);
  BITS(bits2, b);
  BITS(bits2, d);
  BITS(bits2, e);
  BITS(bits3, a);
  BITS(bits3, b);
  BITS(bits3, c);
  BITS(bits3, d);
  BITS(bits4, a);
  BITS(bits4, b);
  BITS(bits4, c);
  BITS(bits5, a);
  BITS(bits5, b);
  ct_table_free(table);
}

/* ---- the parser ---- */

static void check_error(const char *text, pg_code code, const char *part) {
  ct_table *table = ct_table_new();
  pg_error error = {0};
  assert_non_null(table);
  uint32_t before = ct_count(table);
  if (ct_declare_text(table, text, strlen(text), NULL, 0, &error) != code ||
      !strstr(error.message, part))
    fail_msg("'%.60s': %s, expected %s with '%s'", text, error.message, pg_code_name(code), part);
  if (code) assert_int_equal(ct_count(table), before); /* nothing of it stays */
  ct_table_free(table);
}

static void errors_have_a_place(void **state) {
  (void)state;
  check_error("int f(int;", PG_SYNTAX, "line 1, column 10: expected ')', got ';'");
  check_error("int a;\n\n  nosuch b;", PG_NOT_FOUND, "line 3, column 3: undeclared");
  check_error("int a", PG_OK, "");
  check_error("int a[1 / 0];", PG_RANGE, "division by zero");
  check_error("int a[1 << 64];", PG_RANGE, "a shift by 64 bits");
  check_error("int a[0x1ffffffffffffffff];", PG_RANGE, "more than 64 bits");
  check_error("struct s { struct s inner; };", PG_SYNTAX, "size is not known");
  check_error("struct s { int a : 33; };", PG_RANGE, "a bit-field of 33 bits");
  check_error("struct s { int a[]; int b; };", PG_SYNTAX, "a member after an array");
  check_error("struct s { int a, a; };", PG_SYNTAX, "a second member named 'a'");
  check_error("#define X 1", PG_SYNTAX, "run the preprocessor first");
  check_error("extern \"C\" { int f(void); }", PG_SYNTAX, "C++");
  check_error("_Complex int z;", PG_UNSUPPORTED, "complex numbers of another type");
  check_error("_Complex float double z;", PG_SYNTAX, "'double' after another type");
  check_error("_Atomic int z;", PG_UNSUPPORTED, "'_Atomic' is not supported");
  check_error("enum e { A = -1, B = 1ull << 63 };", PG_RANGE, "of which no integer has all");
  check_error("struct s { __int128 a : 3; };", PG_SYNTAX,
              "a bit-field of a type that is no integer");
  check_error("int f(void) { return 1; }", PG_OK, "");
  check_error("int f(void) { return \"}\"[0];", PG_SYNTAX, "a function's body that does not end");
  check_error("typedef int f(void) { return 1; }", PG_SYNTAX, "expected ';', got '{'");
  check_error("int f(int &r);", PG_UNSUPPORTED, "references (&) are not supported: take a pointer");
  check_error("int a __attribute__((mode(V4SI)));", PG_UNSUPPORTED, "the mode 'V4SI'");
  check_error("int a __attribute__((mode(DF)));", PG_SYNTAX, "a mode of another kind of type");
  check_error("int f(int n, int (*v)[n]);", PG_SYNTAX, "expected a constant, got 'n'");
  check_error("int f(int n, int v[n][3], int w[*], int x[static n * (n + 1)]);", PG_OK, "");
  check_error("_Static_assert(sizeof(int) == 4, \"int\"); struct s { _Static_assert(1, \"\"); };",
              PG_OK, "");
}

static char *repeated(const char *piece, size_t count) {
  size_t length = strlen(piece);
  char *text = malloc(length * count + 1);
  assert_non_null(text);
  for (size_t i = 0; i < count; i++) memcpy(text + i * length, piece, length);
  text[length * count] = 0;
  return text;
}

static void depth_is_bounded(void **state) {
  (void)state;
  static const char *const pieces[] = {"int (",      "int *(*(",          "struct {",
                                       "int a[(",    "int f(int (",       "-",
                                       "int a[1 ? ", "int a[sizeof(int[", "int f(void) {{"};
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    char *text = repeated(pieces[i], 20000);
    pg_error error;
    ct_table *table = ct_table_new();
    assert_non_null(table);
    assert_int_not_equal(ct_declare_text(table, text, strlen(text), NULL, 0, &error), PG_OK);
    ct_table_free(table);
    free(text);
  }
}

static void equal_types_are_one(void **state) {
  (void)state;
  static const char *const same[][2] = {{"int", "signed"},
                                        {"unsigned long", "size_t"},
                                        {"char const *", "const char*"},
                                        {"int (*)(int, char*)", "int (*)(int x, char y[4])"},
                                        {"int[2][3]", "int [2] [1 + 2]"},
                                        {"long long int unsigned", "uint64_t"},
                                        {"complex", "double _Complex"},
                                        {"float __complex__ *", "_Complex float*"},
                                        {"__int128_t", "signed __int128"},
                                        {"_Float128", "__float128"},
                                        {"_Float32x", "double"}};
  ct_table *table = ct_table_new();
  pg_error error;
  assert_non_null(table);
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    ctype *a, *b;
    assert_int_equal(ct_parse_type(table, same[i][0], strlen(same[i][0]), NULL, 0, &a, &error), 0);
    assert_int_equal(ct_parse_type(table, same[i][1], strlen(same[i][1]), NULL, 0, &b, &error), 0);
    assert_ptr_equal(a, b);
  }
  ct_table_free(table);
}

/* An alignment is no other type: a struct keeps its tag, a const its quality. */
static void typedefs_with_an_alignment_are_their_type(void **state) {
  (void)state;
  ct_table *table = declared();
  ctype *t, *u, *pointer, *plain;
  pg_error error;
  assert_int_equal(ct_parse_type(table, "high_s", 6, NULL, 0, &t, &error), 0);
  assert_int_equal(ct_parse_type(table, "high_array", 10, NULL, 0, &u, &error), 0);
  assert_int_equal(ct_parse_type(table, "high_s *", 8, NULL, 0, &pointer, &error), 0);
  assert_int_equal(ct_parse_type(table, "struct s *", 10, NULL, 0, &plain, &error), 0);
  assert_ptr_equal(t->base, tagged(table, "s"));
  assert_true(ct_same(pointer, plain));
  assert_false(ct_same(pointer, t));
  assert_int_equal(u->child->quals, CT_CONST);
  assert_int_equal(ct_align(ct_qualified(table, u, CT_VOLATILE)), 16);
  ct_table_free(table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_the_compilers),
      cmocka_unit_test(members_lie_where_the_compiler_puts_them),
      cmocka_unit_test(bits_are_the_compilers),
      cmocka_unit_test(errors_have_a_place),
      cmocka_unit_test(depth_is_bounded),
      cmocka_unit_test(equal_types_are_one),
      cmocka_unit_test(typedefs_with_an_alignment_are_their_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
