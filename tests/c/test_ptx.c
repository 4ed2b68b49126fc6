/* PTX parser: instructions, operands, scopes and control flow against the tree they must become.
 * Declarations are in test_ptx_decl.c, errors in test_ptx_error.c, whole files in test_ptx_file.c.
 */
#include "ptx_tests.h"

/* --- instructions ------------------------------------------------------------------------------
 */

static void an_instruction_is_an_opcode_and_its_modifiers_in_order(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 r; .reg .b64 d;\n ld.global.nc.L2::128B.v4.f32 r, [d];");
  const ptx_instr *ld = instr_at(m, 0);
  const char *const mods[] = {"global", "nc", "L2::128B", "v4", "f32"};
  assert_string_equal(ld->opcode, "ld");
  assert_int_equal(ld->mod_count, 5);
  for (int i = 0; i < 5; i++) assert_string_equal(ld->mods[i], mods[i]);
  assert_int_equal(ld->line, 6);
  ptx_free(m);
}

static void double_colons_stay_inside_a_modifier(void **state) {
  (void)state;
  ptx_module *m =
      parse_body("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [0], "
                 "[1], 2, [3];");
  const ptx_instr *cp = instr_at(m, 0);
  assert_string_equal(cp->mods[2], "shared::cluster");
  assert_string_equal(cp->mods[4], "mbarrier::complete_tx::bytes");
  assert_int_equal(cp->mod_count, 5);
  assert_int_equal(cp->operand_count, 4);
  ptx_free(m);
}

static void modifiers_may_stand_apart(void **state) {
  (void)state;
  ptx_module *m =
      parse_body(".reg .b32 r; ld .shared::cta\n.u32 r, [0]; ld.shared::cta.u32 r, [0];");
  const ptx_instr *apart = instr_at(m, 0), *joined = instr_at(m, 1);
  assert_int_equal(apart->mod_count, 2);
  assert_ptr_equal(apart->mods[0], joined->mods[0]); /* equal names are equal pointers */
  assert_ptr_equal(apart->mods[1], joined->mods[1]);
  ptx_free(m);
}

static void any_name_is_an_instruction(void **state) {
  (void)state;
  ptx_module *m = parse_body("frobnicate.x9.16x16x16; ret;");
  assert_string_equal(instr_at(m, 0)->opcode, "frobnicate");
  assert_string_equal(instr_at(m, 0)->mods[1], "16x16x16");
  assert_int_equal(instr_at(m, 1)->operand_count, 0);
  ptx_free(m);
}

static void a_guard_names_its_register_and_may_be_negated(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .pred %p<3>; @%p2 ret; @!%p1 exit; ret;");
  const ptx_func *k = ptx_find(m, "k");
  assert_string_equal(k->regs[instr_at(m, 0)->guard].name, "%p2");
  assert_false(instr_at(m, 0)->guard_negated);
  assert_string_equal(k->regs[instr_at(m, 1)->guard].name, "%p1");
  assert_true(instr_at(m, 1)->guard_negated);
  assert_int_equal(instr_at(m, 2)->guard, -1);
  ptx_free(m);
}

static void the_text_is_kept_with_white_space_folded_and_comments_dropped(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 a; .reg .pred p;\n"
                             "  @!p\tadd.s32 \t a, // one\n\n   a,/* two\n */ 3 ;");
  assert_string_equal(instr_at(m, 0)->text, "@!p add.s32 a, a, 3");
  assert_int_equal(instr_at(m, 0)->line, 6);
  ptx_free(m);
}

/* --- operands ----------------------------------------------------------------------------------
 */

static void registers_carry_their_index_name_and_type(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .f64 %fd<3>; .reg .b32 x; add.f64 %fd2, %fd0, x;");
  const ptx_func *k = ptx_find(m, "k");
  for (int i = 0; i < 3; i++) {
    const ptx_operand *op = operand_at(m, 0, i);
    assert_int_equal(op->kind, PTX_OP_REG);
    assert_string_equal(op->name, i == 0 ? "%fd2" : i == 1 ? "%fd0" : "x");
    assert_string_equal(k->regs[op->reg].name, op->name);
    assert_int_equal(k->regs[op->reg].type, i < 2 ? PTX_F64 : PTX_B32);
  }
  ptx_free(m);
}

typedef struct literal_case {
  const char *text;
  ptx_operand_kind kind;
  uint64_t bits;
} literal_case;

static void literals_become_their_bits(void **state) {
  (void)state;
  static const literal_case cases[] = {
      {"42", PTX_OP_INT, 42},
      {"0", PTX_OP_INT, 0},
      {"42U", PTX_OP_INT, 42},
      {"0x7fU", PTX_OP_INT, 0x7f},
      {"0XFFFFFFFFFFFFFFFF", PTX_OP_INT, UINT64_MAX},
      {"18446744073709551615", PTX_OP_INT, UINT64_MAX},
      {"017", PTX_OP_INT, 15},
      {"0b101", PTX_OP_INT, 5},
      {"-1", PTX_OP_INT, UINT64_MAX},
      {"-2147483648", PTX_OP_INT, 0xffffffff80000000u},
      {"-9223372036854775808", PTX_OP_INT, (uint64_t)1 << 63},
      {"0f3F800000", PTX_OP_F32, 0x3f800000},
      {"0Fbf800000", PTX_OP_F32, 0xbf800000},
      {"-0f3F800000", PTX_OP_F32, 0xbf800000},
      {"0d3FF0000000000000", PTX_OP_F64, 0x3ff0000000000000},
      {"0D7FF0000000000001", PTX_OP_F64, 0x7ff0000000000001},
      {"1.5", PTX_OP_F64, 0x3ff8000000000000},
      {"1.", PTX_OP_F64, 0x3ff0000000000000},
      {"-2.5e-1", PTX_OP_F64, 0xbfd0000000000000},
      {"1e3", PTX_OP_F64, 0x408f400000000000},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[128];
    snprintf(body, sizeof body, ".reg .b64 r; mov.b64 r, %s;", cases[i].text);
    ptx_module *m = parse_body(body);
    const ptx_operand *op = operand_at(m, 0, 1);
    if (op->kind != cases[i].kind || op->bits != cases[i].bits)
      fail_msg("%s: kind %d bits %llx", cases[i].text, op->kind, (unsigned long long)op->bits);
    ptx_free(m);
  }
}

/* The value on the right is C's own; no parentheses, so that precedence is what is tested. */
#pragma GCC diagnostic ignored "-Wparentheses"
#define VALUE(expression) \
  { #expression, (uint64_t)(int64_t)(expression) }
static void constant_expressions_have_the_values_of_c(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t value;
  } cases[] = {
      VALUE(1 + 2 * 3),
      VALUE((1 + 2) * 3),
      VALUE(10 - 4 - 3),
      VALUE(100 / 7 % 5),
      VALUE(-7 / 2),
      VALUE(-7 % 4),
      VALUE(1 << 4 >> 2),
      VALUE(-16 >> 2),
      VALUE(~5 & 0xff ^ 3 | 64),
      VALUE(3 < 4 == 1),
      VALUE(3 <= 3 && 4 > 5 || 2 >= 2),
      VALUE(!5 + !0),
      VALUE(5 != 4 ? 1 ? 10 : 20 : 30),
      VALUE(- -3),
      VALUE(-(2 + 3) * +2),
      {"(.u64)-1 / 2", UINT64_MAX / 2},
      {"(.s64)0xFFFFFFFFFFFFFFFF / 2", 0},
      {"0xFFFFFFFFFFFFFFFF >> 60", 15},
      {"1 << 64", 0},
      {"(-9223372036854775807 - 1) / -1", (uint64_t)1 << 63},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[160];
    snprintf(body, sizeof body, ".reg .b64 r; mov.b64 r, %s;", cases[i].text);
    ptx_module *m = parse_body(body);
    const ptx_operand *op = operand_at(m, 0, 1);
    if (op->kind != PTX_OP_INT || op->bits != cases[i].value)
      fail_msg("%s gave %llx", cases[i].text, (unsigned long long)op->bits);
    ptx_free(m);
  }
}

static void special_registers_keep_their_name(void **state) {
  (void)state;
  const char *const names[] = {"%tid.x",   "%nctaid.z", "%laneid",      "%lanemask_lt", "%clock64",
                               "%envreg1", "WARP_SZ",   "%globaltimer", "%ctaid",       "%pm3"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char body[128];
    snprintf(body, sizeof body, ".reg .b64 r; mov.b64 r, %s;", names[i]);
    ptx_module *m = parse_body(body);
    assert_int_equal(operand_at(m, 0, 1)->kind, PTX_OP_SPECIAL);
    assert_string_equal(operand_at(m, 0, 1)->name, names[i]);
    ptx_free(m);
  }
}

static void a_declared_register_hides_a_special_one(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 %laneid; mov.b32 %laneid, %warpid;");
  assert_int_equal(operand_at(m, 0, 0)->kind, PTX_OP_REG);
  assert_int_equal(operand_at(m, 0, 1)->kind, PTX_OP_SPECIAL);
  ptx_free(m);
}

static void check_address(const ptx_module *m, int i, ptx_operand_kind base, int64_t offset) {
  const ptx_operand *op = operand_at(m, i, 1);
  assert_int_equal(op->kind, PTX_OP_ADDRESS);
  assert_int_equal(op->count, 1);
  assert_int_equal(op->items[0].kind, base);
  assert_int_equal((int64_t)op->bits, offset);
}

static void addresses_are_a_base_and_an_offset(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b64 %rd<2>; .reg .b32 r; .shared .b32 s[9];\n"
                             "ld.u32 r, [%rd1]; ld.u32 r, [%rd1+12]; ld.u32 r, [ %rd1 + -4 ];\n"
                             "ld.u32 r, [%rd1-4+8*2]; ld.u32 r, [s]; ld.u32 r, [s+8];\n"
                             "ld.u32 r, [1234]; ld.u32 r, [0x10+4];");
  check_address(m, 0, PTX_OP_REG, 0);
  check_address(m, 1, PTX_OP_REG, 12);
  check_address(m, 2, PTX_OP_REG, -4);
  check_address(m, 3, PTX_OP_REG, 12);
  check_address(m, 4, PTX_OP_SYMBOL, 0);
  check_address(m, 5, PTX_OP_SYMBOL, 8);
  check_address(m, 6, PTX_OP_INT, 0);
  check_address(m, 7, PTX_OP_INT, 0);
  assert_string_equal(operand_at(m, 5, 1)->items[0].name, "s");
  assert_int_equal(operand_at(m, 5, 1)->items[0].bits, 0); /* the offset is the address's */
  assert_int_equal(operand_at(m, 6, 1)->items[0].bits, 1234);
  assert_int_equal(operand_at(m, 7, 1)->items[0].bits, 20);
  ptx_free(m);
}

static void tensor_coordinates_are_further_items_of_the_address(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b64 d; .reg .b32 %r<4>; x.y [%r1], [d, {%r2, 7}], [%r3], d;");
  const ptx_operand *op = operand_at(m, 0, 1);
  assert_int_equal(op->kind, PTX_OP_ADDRESS);
  assert_int_equal(op->count, 2);
  assert_int_equal(op->items[1].kind, PTX_OP_VECTOR);
  assert_int_equal(op->items[1].count, 2);
  assert_string_equal(op->items[1].items[0].name, "%r2");
  assert_int_equal(op->items[1].items[1].bits, 7);
  ptx_free(m);
}

static void vectors_hold_registers_constants_and_sinks(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 %r<4>; ld.v4.b32 { %r0, _, 5 , 0f00000000}, [0];");
  const ptx_operand *op = operand_at(m, 0, 0);
  const ptx_operand_kind kinds[] = {PTX_OP_REG, PTX_OP_SINK, PTX_OP_INT, PTX_OP_F32};
  assert_int_equal(op->kind, PTX_OP_VECTOR);
  assert_int_equal(op->count, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(op->items[i].kind, kinds[i]);
  ptx_free(m);
}

static void pairs_have_two_items(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 %r<4>; .reg .pred %p<4>;\n"
                             "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;\n"
                             "setp.eq.b32 %p2 | _, %r1, 0; elect.sync _|%p3, -1;");
  for (int i = 0; i < 3; i++) {
    assert_int_equal(operand_at(m, i, 0)->kind, PTX_OP_PAIR);
    assert_int_equal(operand_at(m, i, 0)->count, 2);
  }
  assert_string_equal(operand_at(m, 0, 0)->items[0].name, "%r1");
  assert_string_equal(operand_at(m, 0, 0)->items[1].name, "%p1");
  assert_int_equal(operand_at(m, 1, 0)->items[1].kind, PTX_OP_SINK);
  assert_int_equal(operand_at(m, 2, 0)->items[0].kind, PTX_OP_SINK);
  ptx_free(m);
}

static void a_predicate_operand_may_be_negated(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .pred p, q; setp.eq.and.s32 p, 1, 2, !q; selp.b32 p, 1, 2, q;");
  assert_true(operand_at(m, 0, 3)->negated);
  assert_string_equal(operand_at(m, 0, 3)->name, "q");
  assert_false(operand_at(m, 1, 3)->negated);
  ptx_free(m);
}

static void variables_and_functions_are_symbols_with_an_offset(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".global .b32 g[4]; .func f() { ret; }\n"
                                     ".entry k() { .reg .b64 d; .local .b64 v;\n"
                                     "mov.u64 d, g; mov.u64 d, g+12; mov.u64 d, f; mov.u64 d, v;\n"
                                     "mov.u64 d, late; ret; }\n.func late() { ret; }");
  const char *const names[] = {"g", "g", "f", "v", "late"};
  for (int i = 0; i < 5; i++) {
    assert_int_equal(operand_at(m, i, 1)->kind, PTX_OP_SYMBOL);
    assert_string_equal(operand_at(m, i, 1)->name, names[i]);
    assert_int_equal(operand_at(m, i, 1)->bits, i == 1 ? 12 : 0);
  }
  ptx_free(m);
}

static void an_unused_prefix_of_a_range_is_no_register(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 %r<14>; .reg .b64 %rd<1000000000>;\n"
                             "add.s32 %r0, %r13, %r0; mov.b64 %rd999999, 0;");
  const ptx_func *k = ptx_find(m, "k");
  const char *const names[] = {"%r0", "%r13", "%rd999999"};
  assert_int_equal(k->reg_count, 3); /* only what is named */
  for (int i = 0; i < 3; i++) assert_string_equal(k->regs[i].name, names[i]);
  assert_int_equal(operand_at(m, 0, 0)->reg, operand_at(m, 0, 2)->reg);
  ptx_free(m);
}

/* --- labels ------------------------------------------------------------------------------------
 */

static void branches_name_the_index_of_their_label(void **state) {
  (void)state;
  ptx_module *m =
      parse_body("$L__BB0_1:\n ret;\n bra.uni END;\n a: b:\n bra $L__BB0_1; END:\n bra b;\n"
                 "c: d:");
  const ptx_func *k = ptx_find(m, "k");
  const int labels[] = {0, 3, 4, 6, 8, 9};
  assert_int_equal(k->instr_count, 10);
  for (int i = 0; i < 6; i++) {
    const ptx_instr *label = &k->body[labels[i]];
    assert_null(label->opcode);
    assert_int_equal(label->operands[0].kind, PTX_OP_LABEL);
    assert_int_equal(label->operands[0].bits, labels[i]);
  }
  assert_int_equal(operand_at(m, 1, 0)->bits, 6);        /* forward */
  assert_int_equal(operand_at(m, 2, 0)->bits, 0);        /* backward */
  assert_int_equal(operand_at(m, 3, 0)->bits, 4);        /* the second of two in a row */
  assert_string_equal(k->body[9].operands[0].name, "d"); /* at the end of a body */
  ptx_free(m);
}

static void a_label_belongs_to_its_scope(void **state) {
  (void)state;
  ptx_module *m = parse_body("L: { bra L; L: ret; } { L: bra L; } bra L; { bra L; { bra M; } } M:");
  const ptx_func *k = ptx_find(m, "k");
  const char *first = operand_at(m, 0, 0)->name, *second = operand_at(m, 2, 0)->name;
  assert_int_equal(operand_at(m, 0, 0)->bits, 2); /* the inner one, though the outer stands first */
  assert_int_equal(operand_at(m, 2, 0)->bits, 4);
  assert_int_equal(operand_at(m, 3, 0)->bits, 0);
  assert_int_equal(operand_at(m, 4, 0)->bits, 0); /* none inside: that of the outer scope */
  assert_int_equal(operand_at(m, 5, 0)->bits, k->instr_count - 1);
  assert_string_not_equal(first, second); /* the flat body is unambiguous */
  assert_string_not_equal(first, operand_at(m, 3, 0)->name);
  assert_string_equal(operand_at(m, 3, 0)->name, "L");
  assert_ptr_equal(first, k->body[2].operands[0].name);
  ptx_free(m);
}

static void branch_targets_list_labels_and_keep_their_index(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 i; { L: ret; } ts: .branchtargets L, M, L;\n"
                             "brx.idx i, ts; L: ret; M: ret;");
  const ptx_func *k = ptx_find(m, "k");
  assert_int_equal(k->targets_count, 1);
  assert_string_equal(k->targets[0].label, "ts");
  assert_int_equal(k->targets[0].count, 3);
  const ptx_operand *ts = operand_at(m, 1, 1);
  assert_int_equal(ts->kind, PTX_OP_LABEL);
  assert_int_equal(ts->bits, 0); /* the index in targets */
  const char *own = NULL;
  for (int i = 0; i < k->instr_count; i++) /* the second L of the body is the one in scope */
    if (!k->body[i].opcode && k->body[i].operands[0].name[0] == 'L')
      own = k->body[i].operands[0].name;
  assert_string_equal(k->targets[0].names[0], own);
  assert_string_equal(k->targets[0].names[1], "M");
  assert_string_equal(k->targets[0].names[2], own);
  ptx_free(m);
}

/* --- scopes ------------------------------------------------------------------------------------
 */

static void an_inner_register_is_another_register(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 x, %r<4>; mov.b32 x, %r1;\n"
                             "{ .reg .b64 x; .reg .f32 %r<2>; mov.b32 x, %r1; mov.b32 x, %r3; }\n"
                             "mov.b32 x, %r1;");
  const ptx_func *k = ptx_find(m, "k");
  int outer = operand_at(m, 0, 0)->reg, inner = operand_at(m, 1, 0)->reg;
  assert_int_not_equal(outer, inner);
  assert_int_equal(k->regs[outer].type, PTX_B32);
  assert_int_equal(k->regs[inner].type, PTX_B64);
  assert_int_equal(operand_at(m, 3, 0)->reg, outer);
  assert_int_equal(k->regs[operand_at(m, 1, 1)->reg].type, PTX_F32);
  assert_int_equal(k->regs[operand_at(m, 2, 1)->reg].type, PTX_B32); /* beyond the inner range */
  assert_int_equal(operand_at(m, 3, 1)->reg, operand_at(m, 0, 1)->reg);
  ptx_free(m);
}

static void a_register_of_a_range_outlives_the_scope_that_named_it_first(void **state) {
  (void)state;
  ptx_module *m = parse_body(".reg .b32 %r<4>; { { mov.b32 %r3, 0; } } mov.b32 %r3, 1;");
  assert_int_equal(operand_at(m, 0, 0)->reg, operand_at(m, 1, 0)->reg);
  assert_int_equal(ptx_find(m, "k")->reg_count, 1);
  ptx_free(m);
}

static void variables_redeclared_in_scopes_get_names_of_their_own(void **state) {
  (void)state;
  ptx_module *m =
      parse_body("{ .param .b32 p; st.param.b32 [p+0], 1; }\n"
                 "{ .param .b64 p; st.param.b64 [p+0], 2; { .param .b8 p[3]; x [p]; } }");
  const ptx_func *k = ptx_find(m, "k");
  const ptx_type types[] = {PTX_B32, PTX_B64, PTX_B8};
  assert_int_equal(k->var_count, 3);
  for (int i = 0; i < 3; i++) {
    assert_ptr_equal(operand_at(m, i, 0)->items[0].name, k->vars[i].name);
    assert_int_equal(k->vars[i].type, types[i]);
    for (int j = 0; j < i; j++) assert_string_not_equal(k->vars[i].name, k->vars[j].name);
  }
  assert_string_equal(k->vars[0].name, "p");
  assert_string_equal(k->vars[1].name, "p@1");
  ptx_free(m);
}

static void a_local_name_that_hides_one_of_the_module_is_renamed(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".global .b32 x; .entry k() { .reg .b64 d;\n"
                                     "{ .shared .b32 x; mov.u64 d, x; } mov.u64 d, x; }");
  assert_string_equal(operand_at(m, 0, 1)->name, ptx_find(m, "k")->vars[0].name);
  assert_string_equal(operand_at(m, 1, 1)->name, "x");
  assert_string_not_equal(operand_at(m, 0, 1)->name, "x");
  ptx_free(m);
}

static void names_begin_anew_in_each_function(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(".func f() { .reg .b32 r; .shared .b32 s; L: bra L; }\n"
                                     ".func g() { .reg .b64 r; .shared .b64 s; ret; L: bra L; }");
  const ptx_func *g = ptx_find(m, "g");
  assert_string_equal(g->vars[0].name, "s");
  assert_int_equal(g->regs[0].type, PTX_B64);
  assert_int_equal(g->body[2].operands[0].bits, 1);
  ptx_free(m);
}

/* --- calls -------------------------------------------------------------------------------------
 */

static void calls_have_tuples_of_parameters(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(
      ".func (.param .b32 r) f(.param .b32 a, .param .b64 b) { ret; } .func g() { ret; }\n"
      ".entry k() { .reg .b64 d; .reg .b32 %r<2>; .param .b32 p0; .param .b64 p1; .param .b32 q;\n"
      "call.uni (q), f, (p0, p1); call g; call.uni g, ();\n"
      "t: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]);\n"
      "u: .calltargets f, g; call (q), d, (p0, p1), t; call d, (1, %r1), u; }");
  const ptx_operand *ret = operand_at(m, 0, 0), *args = operand_at(m, 0, 2);
  assert_int_equal(ret->kind, PTX_OP_TUPLE);
  assert_int_equal(ret->count, 1);
  assert_string_equal(ret->items[0].name, "q");
  assert_string_equal(operand_at(m, 0, 1)->name, "f");
  assert_int_equal(args->count, 2);
  assert_string_equal(args->items[1].name, "p1");
  assert_int_equal(instr_at(m, 1)->operand_count, 1);
  assert_int_equal(operand_at(m, 2, 1)->count, 0);
  assert_int_equal(operand_at(m, 3, 1)->kind, PTX_OP_REG);
  assert_string_equal(operand_at(m, 3, 3)->name, "t");
  assert_int_equal(operand_at(m, 4, 1)->items[0].kind, PTX_OP_INT);
  const ptx_func *k = ptx_find(m, "k");
  assert_int_equal(k->targets_count, 2);
  assert_int_equal(k->targets[0].count, 0); /* a prototype */
  assert_int_equal(operand_at(m, 4, 2)->bits, 1);
  assert_string_equal(k->targets[1].names[1], "g");
  ptx_free(m);
}

/* --- source places -----------------------------------------------------------------------------
 */

static void locations_name_files_that_are_listed_last(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(
      ".entry k() { bar.sync 0;\n.loc 2 17 5\n ret; .loc 1 3 0\n ret; }\n"
      ".loc 1 1 1\n.file 1 \"/src/a.cu\"\n.file 2 \"b \\\"x\\\".h\", 1700000, 33\n"
      ".file 2 \"again\"\n.file \"unnumbered\"\n");
  assert_null(instr_at(m, 0)->file);
  assert_null(instr_at(m, 0)->place);
  assert_string_equal(instr_at(m, 1)->file, "b \"x\".h");
  assert_int_equal(instr_at(m, 1)->file_line, 17);
  assert_string_equal(instr_at(m, 2)->file, "/src/a.cu");
  assert_null(instr_at(m, 2)->place->inlined_at);
  ptx_free(m);
}

static void a_location_knows_where_it_was_inlined(void **state) {
  (void)state;
  ptx_module *m = parse_after_header(
      ".file 1 \"a.cu\"\n.file 2 \"dir\" \"b.h\"\n.file 3 \"c.h\"\n.entry k() {\n.loc 1 30 2\n"
      ".loc 2 7 9, function_name $L__info_string0, inlined_at 1 30 2\n"
      ".loc 3 70 1, function_name $L__info_string1+4, inlined_at 2 7 9\n ret;\n.loc 1 31 0\n exit; "
      "}");
  const ptx_place *place = instr_at(m, 0)->place;
  assert_string_equal(place->file, "c.h");
  assert_int_equal(place->line, 70);
  assert_string_equal(place->inlined_at->file, "dir/b.h");
  assert_int_equal(place->inlined_at->line, 7);
  assert_string_equal(place->inlined_at->inlined_at->file, "a.cu");
  assert_int_equal(place->inlined_at->inlined_at->line, 30);
  assert_null(place->inlined_at->inlined_at->inlined_at);
  assert_null(instr_at(m, 1)->place->inlined_at);
  ptx_free(m);
}

static void line_zero_stays_at_the_line_before(void **state) {
  (void)state;
  ptx_module *m = parse_body(".loc 1 5 1\n.loc 1 0 1\n ret;\n"
                             ".loc 2 0 3, function_name f, inlined_at 1 5 1\n ret;");
  assert_int_equal(instr_at(m, 0)->file_line, 5);
  assert_int_equal(instr_at(m, 1)->file_line, 5);
  assert_null(instr_at(m, 0)->file); /* no .file names number 1 */
  ptx_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_instruction_is_an_opcode_and_its_modifiers_in_order),
      cmocka_unit_test(double_colons_stay_inside_a_modifier),
      cmocka_unit_test(modifiers_may_stand_apart),
      cmocka_unit_test(any_name_is_an_instruction),
      cmocka_unit_test(a_guard_names_its_register_and_may_be_negated),
      cmocka_unit_test(the_text_is_kept_with_white_space_folded_and_comments_dropped),
      cmocka_unit_test(registers_carry_their_index_name_and_type),
      cmocka_unit_test(literals_become_their_bits),
      cmocka_unit_test(constant_expressions_have_the_values_of_c),
      cmocka_unit_test(special_registers_keep_their_name),
      cmocka_unit_test(a_declared_register_hides_a_special_one),
      cmocka_unit_test(addresses_are_a_base_and_an_offset),
      cmocka_unit_test(tensor_coordinates_are_further_items_of_the_address),
      cmocka_unit_test(vectors_hold_registers_constants_and_sinks),
      cmocka_unit_test(pairs_have_two_items),
      cmocka_unit_test(a_predicate_operand_may_be_negated),
      cmocka_unit_test(variables_and_functions_are_symbols_with_an_offset),
      cmocka_unit_test(an_unused_prefix_of_a_range_is_no_register),
      cmocka_unit_test(branches_name_the_index_of_their_label),
      cmocka_unit_test(a_label_belongs_to_its_scope),
      cmocka_unit_test(branch_targets_list_labels_and_keep_their_index),
      cmocka_unit_test(an_inner_register_is_another_register),
      cmocka_unit_test(a_register_of_a_range_outlives_the_scope_that_named_it_first),
      cmocka_unit_test(variables_redeclared_in_scopes_get_names_of_their_own),
      cmocka_unit_test(a_local_name_that_hides_one_of_the_module_is_renamed),
      cmocka_unit_test(names_begin_anew_in_each_function),
      cmocka_unit_test(calls_have_tuples_of_parameters),
      cmocka_unit_test(locations_name_files_that_are_listed_last),
      cmocka_unit_test(a_location_knows_where_it_was_inlined),
      cmocka_unit_test(line_zero_stays_at_the_line_before),
  };
  return cmocka_run_group_tests_name("ptx", tests, NULL, NULL);
}
