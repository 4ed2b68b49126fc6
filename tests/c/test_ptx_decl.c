/* PTX parser: module directives, variables, initial values, functions against the tree they must
 * become. */
#include "ptx_tests.h"

/* --- module ------------------------------------------------------------------------------------
 */

static void the_header_gives_version_and_target(void **state) {
  (void)state;
  ptx_module *m =
      parse(".version 8.7\n.target sm_100a, texmode_independent, debug\n.address_size 64\n");
  assert_int_equal(m->version_major, 8);
  assert_int_equal(m->version_minor, 7);
  assert_string_equal(m->target, "sm_100a");
  assert_int_equal(m->address_size, 64);
  assert_int_equal(m->func_count, 0);
  ptx_free(m);
}

static void debug_sections_and_their_labels_are_skipped(void **state) {
  (void)state;
  ptx_module *m =
      parse_after_header("\t.section\t.debug_str\n\t{\n$L__info_string0:\n.b8 95,90 // } \n"
                         "/* } */\n\t}\n$L__sec_end0:\n.section .debug_loc {\t}\n"
                         ".entry k() { ret; }");
  assert_int_equal(ptx_find(m, "k")->line, 12);
  ptx_free(m);
}

static void pragmas_change_nothing(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".pragma \"a\";\n.entry k() .pragma \"b\", \"c\"; {\n"
                                     "L:\n.pragma \"nounroll\";\n ret; }");
  assert_int_equal(ptx_find(m, "k")->instr_count, 2);
  ptx_free(m);
}

/* --- variables ---------------------------------------------------------------------------------
 */

typedef struct var_case {
  const char *text;
  ptx_space space;
  ptx_type type;
  uint32_t align;
  uint64_t count;
  bool is_array;
} var_case;

static void variables_have_space_type_alignment_and_count(void **state) {
  (void)state;
  static const var_case cases[] = {
      {".global .u32 x;", PTX_GLOBAL, PTX_U32, 4, 1, false},
      {".visible .global .align 16 .b8 x[48];", PTX_GLOBAL, PTX_B8, 16, 48, true},
      {".const .f64 x[2];", PTX_CONST, PTX_F64, 8, 2, true},
      {".weak .shared .align 2 .b32 x;", PTX_SHARED, PTX_B32, 4, 1,
       false}, /* never below natural */
      {".global .b16 x[4][3][2];", PTX_GLOBAL, PTX_B16, 2, 24, true},
      {".global .v4 .f32 x;", PTX_GLOBAL, PTX_F32, 16, 4, true},
      {".global .v2 .b64 x[3];", PTX_GLOBAL, PTX_B64, 16, 6, true},
      {".extern .shared .align 16 .b8 x[];", PTX_SHARED, PTX_B8, 16, 0, true},
      {".common .global .b128 x;", PTX_GLOBAL, PTX_B128, 16, 1, false},
      {".global .attribute(.managed) .align 8 .u64 x;", PTX_GLOBAL, PTX_U64, 8, 1, false},
      {".global .align 4 .attribute(.unified(1,(2))) .s8 x;", PTX_GLOBAL, PTX_S8, 4, 1, false},
      {".global .u8 x[2*3+1];", PTX_GLOBAL, PTX_U8, 1, 7, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ptx_module *m = parse_after_header(cases[i].text);
    const ptx_var *x = module_var(m, "x");
    assert_int_equal(x->space, cases[i].space);
    assert_int_equal(x->type, cases[i].type);
    assert_int_equal(x->align, cases[i].align);
    assert_int_equal(x->count, cases[i].count);
    assert_int_equal(x->is_array, cases[i].is_array);
    assert_int_equal(x->is_extern, strncmp(cases[i].text, ".extern", 7) == 0);
    assert_int_equal(x->line, 4);
    assert_null(x->init);
    ptx_free(m);
  }
}

static void one_declaration_may_hold_several_variables(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".global .u32 a, b = 4, c[2];");
  assert_int_equal(m->var_count, 3);
  assert_null(module_var(m, "a")->init);
  assert_int_equal(module_var(m, "b")->init[0], 4);
  assert_int_equal(module_var(m, "c")->count, 2);
  ptx_free(m);
}

static void a_definition_replaces_an_extern_declaration(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".extern .global .u32 a; .extern .global .u32 a;\n"
                                     ".visible .global .u32 a = 7; .extern .global .u32 a;");
  assert_int_equal(m->var_count, 1);
  assert_false(m->vars[0].is_extern);
  assert_int_equal(m->vars[0].init[0], 7);
  ptx_free(m);
}

static void module_variables_of_functions_are_told_apart(void **state) {
  (void)state;
  ptx_module *m =
      parse_after_header(".entry k() { .global .b32 x = 1; .reg .b64 d; mov.b64 d, x; }\n"
                         ".func f() { .const .b32 x = 2; ret; }");
  assert_int_equal(m->var_count, 2);
  assert_string_not_equal(m->vars[0].name, m->vars[1].name);
  assert_string_equal(operand_at(m, 0, 1)->name, m->vars[0].name);
  assert_int_equal(m->vars[1].init[0], 2);
  ptx_free(m);
}

/* --- initial values ----------------------------------------------------------------------------
 */

static void check_init(const char *text, const void *want, uint64_t count, size_t size) {
  ptx_module *m = parse_after_header(text);
  const ptx_var *x = module_var(m, "x");
  assert_int_equal(x->count, count);
  assert_int_equal(ptx_type_bytes(x->type), size);
  assert_non_null(x->init);
  if (memcmp(x->init, want, count * size)) fail_msg("%s", text);
  ptx_free(m);
}

static void integers_are_stored_little_endian_and_truncated(void **state) {
  (void)state;
  check_init(".global .u32 x = 7;", (uint32_t[]){7}, 1, 4);
  check_init(".const .s64 x = -2;", (int64_t[]){-2}, 1, 8);
  check_init(".global .b8 x[6] = {1, 0x10, 010, 0b11, -1, 300};", (uint8_t[]){1, 16, 8, 3, 255, 44},
             6, 1);
  check_init(".global .u64 x = 0xFEDCBA9876543210;", (uint64_t[]){0xFEDCBA9876543210}, 1, 8);
  check_init(".global .u16 x[2] = {1+2*3, (1<<9)|1};", (uint16_t[]){7, 513}, 2, 2);
  check_init(".global .b128 x[2] = {5, -1};", (uint64_t[]){5, 0, UINT64_MAX, UINT64_MAX}, 2, 16);
}

static void floats_are_rounded_to_the_element(void **state) {
  (void)state;
  check_init(".global .f32 x[3] = {0f3F800000, 2.5, -0d3FB999999999999A};",
             (float[]){1, 2.5f, -0.1f}, 3, 4);
  check_init(".global .f64 x[2] = {0f3F000000, 0.1};", (double[]){0.5, 0.1}, 2, 8);
  check_init(".global .b32 x[2] = {0f3F800000, 1};", (uint32_t[]){0x3f800000, 1}, 2, 4);
  check_init(".global .b64 x = 0d3FF0000000000000;", (uint64_t[]){0x3ff0000000000000}, 1, 8);
}

static void missing_values_are_zero(void **state) {
  (void)state;
  check_init(".global .s32 x[5] = {1, 2};", (int32_t[]){1, 2, 0, 0, 0}, 5, 4);
  check_init(".global .s32 x[2] = {};", (int32_t[]){0, 0}, 2, 4);
  check_init(".global .s32 x[2] = {1, };", (int32_t[]){1, 0}, 2, 4);
}

static void nested_braces_follow_the_dimensions(void **state) {
  (void)state;
  int32_t padded[] = {1, 0, 0, 4, 5, 6}, flat[] = {1, 2, 3, 4, 5, 6},
          deep[] = {1, 0, 2, 0, 3, 4, 0, 0};
  check_init(".global .s32 x[2][3] = {{1}, {4, 5, 6}};", padded, 6, 4);
  check_init(".global .s32 x[2][3] = {1, 2, 3, 4, 5, 6};", flat, 6, 4);
  check_init(".global .s32 x[2][3] = {1, 2, 3, {4, 5, 6}};", flat, 6, 4);
  check_init(".global .s32 x[2][2][2] = {{{1}, {2}}, {{3, 4}}};", deep, 8, 4);
  check_init(".global .v2 .s32 x[3] = {{1, 2}, {3, 4}, {5, 6}};", flat, 6, 4);
}

static void an_open_dimension_is_counted(void **state) {
  (void)state;
  check_init(".global .s32 x[] = {1, 2, 3};", (int32_t[]){1, 2, 3}, 3, 4);
  check_init(".global .s32 x[][2] = {{1, 2}, {3}};", (int32_t[]){1, 2, 3, 0}, 4, 4);
  check_init(".global .s32 x[][2] = {1, 2, 3};", (int32_t[]){1, 2, 3, 0}, 4, 4);
}

static void check_reloc(const ptx_var *x, int i, uint64_t at, const char *symbol, int64_t addend,
                        bool generic, int bytes) {
  assert_true(i < x->reloc_count);
  assert_int_equal(x->relocs[i].at, at);
  assert_string_equal(x->relocs[i].symbol, symbol);
  assert_int_equal(x->relocs[i].addend, addend);
  assert_int_equal(x->relocs[i].generic, generic);
  assert_int_equal(x->relocs[i].bytes, bytes);
}

static void addresses_become_relocs_over_zeros(void **state) {
  (void)state;
  ptx_module *m =
      parse_after_header(".func f();\n.global .b32 g[4];\n"
                         ".global .u64 x[5] = {f, 9, generic(g), g+8, generic (g) - 4};\n"
                         ".global .b32 y = g; .func f() { ret; }");
  const ptx_var *x = module_var(m, "x");
  assert_int_equal(x->reloc_count, 4);
  check_reloc(x, 0, 0, "f", 0, false, 8);
  check_reloc(x, 1, 16, "g", 0, true, 8);
  check_reloc(x, 2, 24, "g", 8, false, 8);
  check_reloc(x, 3, 32, "g", -4, true, 8);
  uint64_t words[5];
  memcpy(words, x->init, sizeof words);
  for (int i = 0; i < 5; i++) assert_int_equal(words[i], i == 1 ? 9 : 0);
  check_reloc(module_var(m, "y"), 0, 0, "g", 0, false, 4);
  ptx_free(m);
}

static void an_initial_value_may_name_what_comes_later(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".global .u64 x = generic(later);\n.global .b8 later;");
  check_reloc(module_var(m, "x"), 0, 0, "later", 0, true, 8);
  ptx_free(m);
}

static void masked_bytes_of_an_address_are_one_reloc(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(
      ".global .b8 s[4];\n.global .b8 x[14] = {1, 0xFF(generic(s)+1), 0xFF00(generic(s)+1),\n"
      "0xFF0000(generic(s)+1), 0xFF000000(generic(s)+1), 0xFF00000000(generic(s)+1),\n"
      "0xFF0000000000(generic(s)+1), 0xFF000000000000(generic(s)+1),\n"
      "0xFF00000000000000(generic(s)+1), 2, 0xff(s), 0xff00(s), 3};");
  const ptx_var *x = module_var(m, "x");
  const uint8_t want[14] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3, 0};
  assert_int_equal(x->reloc_count, 2);
  check_reloc(x, 0, 1, "s", 1, true, 8);
  check_reloc(x, 1, 10, "s", 0, false, 2);
  assert_memory_equal(x->init, want, sizeof want);
  ptx_free(m);
}

/* --- functions ---------------------------------------------------------------------------------
 */

static void kernels_have_parameters_with_alignment_and_count(void **state) {
  (void)state;
  ptx_module *m =
      parse_after_header(".visible .entry k(\n\t.param .u64 .ptr .shared .align 1 k_param_0,\n"
                         "\t.param .align 8 .b8 k_param_1[24],\n\t.param .f32 k_param_2\n)\n{\n"
                         ".reg .f32 q; ld.param.f32 q, [k_param_1+20]; ret; }");
  const ptx_func *k = ptx_find(m, "k");
  assert_true(k->is_entry);
  assert_false(k->is_extern);
  assert_int_equal(k->param_count, 3);
  assert_true(k->params[0].is_pointer);
  assert_int_equal(k->params[0].align, 8); /* .align behind .ptr is that of what it points to */
  assert_false(k->params[1].is_pointer);
  assert_int_equal(k->params[1].align, 8);
  assert_int_equal(k->params[1].count, 24);
  assert_int_equal(k->params[2].type, PTX_F32);
  assert_int_equal(k->params[2].space, PTX_PARAM);
  assert_ptr_equal(operand_at(m, 0, 1)->items[0].name, k->params[1].name);
  ptx_free(m);
}

static void functions_have_results_and_declarations(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(
      ".extern .func  (.param .b32 func_retval0) vprintf\n(\n\t.param .b64 vprintf_param_0,\n"
      "\t.param .b64 vprintf_param_1\n)\n;\n.func (.param .align 4 .b8 r[12]) f(.param .b32 a);\n"
      ".weak .func (.param .align 4 .b8 r[12]) f(.param .b32 b) { ret; }\n"
      ".func (.param .align 4 .b8 r[12]) f(.param .b32 a);\n.func g() .noreturn { trap; }");
  const ptx_func *vprintf_ = ptx_find(m, "vprintf"), *f = ptx_find(m, "f");
  assert_int_equal(m->func_count, 3);
  assert_true(vprintf_->is_extern);
  assert_int_equal(vprintf_->param_count, 2);
  assert_int_equal(vprintf_->ret_count, 1);
  assert_false(f->is_extern);
  assert_false(f->is_entry);
  assert_int_equal(f->rets[0].count, 12);
  assert_string_equal(f->params[0].name, "b"); /* as the body calls it */
  assert_true(ptx_find(m, "g")->noreturn);
  assert_null(ptx_find(m, "h"));
  ptx_free(m);
}

static void block_sizes_are_filled_up_with_ones(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(
      ".entry k() .maxntid 256 .minnctapersm 2 .maxnreg 32 { ret; }\n"
      ".entry q() .reqntid 16, 8, 2 .explicitcluster .reqnctapercluster 2, 1, 1\n"
      ".maxclusterrank 8 .maxnctapersm 1 .blocksareclusters { ret; }\n"
      ".func .attribute(.unified(1, 2)) f() .abi_preserve 8 .abi_preserve_control 14 { ret; }");
  const ptx_func *k = ptx_find(m, "k"), *q = ptx_find(m, "q");
  const uint32_t max[] = {256, 1, 1}, none[] = {0, 0, 0}, required[] = {16, 8, 2};
  assert_memory_equal(k->maxntid, max, sizeof max);
  assert_memory_equal(k->reqntid, none, sizeof none);
  assert_memory_equal(q->reqntid, required, sizeof required);
  ptx_free(m);
}

static void an_alias_has_the_body_of_its_target(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".visible .func a(.param .b32 x);\n"
                                     ".func b(.param .b32 x) { L: bra L; }\n.alias a, b;");
  const ptx_func *a = ptx_find(m, "a");
  assert_string_equal(a->name, "a");
  assert_false(a->is_extern);
  assert_ptr_equal(a->body, ptx_find(m, "b")->body);
  ptx_free(m);
}

static void formal_registers_are_registers_of_the_body(void **state) {
  (void)state;
  ptx_module *m =
      parse_after_header(".func (.reg .b32 r) k(.reg .b64 a) { cvt.u32.u64 r, a; ret; }");
  const ptx_func *k = ptx_find(m, "k");
  assert_int_equal(k->rets[0].space, PTX_REG);
  assert_string_equal(k->regs[operand_at(m, 0, 0)->reg].name, "r");
  assert_int_equal(k->regs[operand_at(m, 0, 1)->reg].type, PTX_B64);
  ptx_free(m);
}

static void body_variables_are_local_shared_and_param(void **state) {
  (void)state;
  ptx_module *m =
      parse_body(".local .align 16 .b8 \t__local_depot2[48];\n.shared .align 4 .b8 sh[4224];\n"
                 ";.param .b64 p; .param .align 8 .b8 q[24]; .extern .shared .b8 e[]; ret;");
  const ptx_func *k = ptx_find(m, "k");
  assert_int_equal(k->var_count, 5);
  assert_int_equal(find_var(k->vars, 4, "__local_depot2")->align, 16);
  assert_int_equal(find_var(k->vars, 4, "sh")->space, PTX_SHARED);
  assert_int_equal(find_var(k->vars, 4, "q")->count, 24);
  assert_int_equal(find_var(k->vars, 4, "p")->space, PTX_PARAM);
  assert_true(find_var(k->vars, 5, "e")->is_extern);
  ptx_free(m);
}

static void types_have_names_and_sizes(void **state) {
  (void)state;
  assert_int_equal(ptx_type_parse("bf16x2"), PTX_BF16X2);
  assert_int_equal(ptx_type_parse("x"), PTX_NONE);
  assert_string_equal(ptx_type_name(PTX_B128), "b128");
  assert_int_equal(ptx_type_bytes(PTX_B128), 16);
  assert_string_equal(ptx_type_name(PTX_TYPE_COUNT), "none");
  assert_int_equal(ptx_type_bytes((ptx_type)-1), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_header_gives_version_and_target),
      cmocka_unit_test(debug_sections_and_their_labels_are_skipped),
      cmocka_unit_test(pragmas_change_nothing),
      cmocka_unit_test(variables_have_space_type_alignment_and_count),
      cmocka_unit_test(one_declaration_may_hold_several_variables),
      cmocka_unit_test(a_definition_replaces_an_extern_declaration),
      cmocka_unit_test(module_variables_of_functions_are_told_apart),
      cmocka_unit_test(integers_are_stored_little_endian_and_truncated),
      cmocka_unit_test(floats_are_rounded_to_the_element),
      cmocka_unit_test(missing_values_are_zero),
      cmocka_unit_test(nested_braces_follow_the_dimensions),
      cmocka_unit_test(an_open_dimension_is_counted),
      cmocka_unit_test(addresses_become_relocs_over_zeros),
      cmocka_unit_test(an_initial_value_may_name_what_comes_later),
      cmocka_unit_test(masked_bytes_of_an_address_are_one_reloc),
      cmocka_unit_test(kernels_have_parameters_with_alignment_and_count),
      cmocka_unit_test(functions_have_results_and_declarations),
      cmocka_unit_test(block_sizes_are_filled_up_with_ones),
      cmocka_unit_test(an_alias_has_the_body_of_its_target),
      cmocka_unit_test(formal_registers_are_registers_of_the_body),
      cmocka_unit_test(body_variables_are_local_shared_and_param),
      cmocka_unit_test(types_have_names_and_sizes),
  };
  return cmocka_run_group_tests_name("ptx_decl", tests, NULL, NULL);
}
