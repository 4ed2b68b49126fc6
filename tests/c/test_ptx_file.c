/* PTX parser on whole files as nvcc, rustc and Triton wrote them (tests/ptx/): the tree holds
 * together, it can be written out and read again, and ptxas makes the same machine code of it as of
 * the original. */
#include "ptx_tests.h"

#include <elf.h>
#include <unistd.h>

#include "ptx_print.h"
#include "ptx_tree.h"

static const char *const files[] = {"inline", "calls", "data",   "assembly",
                                    "debug",  "pick",  "softmax"};
enum { FILES = sizeof files / sizeof *files };

static char *read_sample(const char *name, size_t *bytes) {
  char path[512];
  const char *slash = strrchr(__FILE__, '/');
  snprintf(path, sizeof path, "%.*s/../ptx/%s.ptx", slash ? (int)(slash - __FILE__) : 1,
           slash ? __FILE__ : ".", name);
  return read_text(path, bytes);
}

static ptx_module *parse_sample(const char *name) {
  size_t bytes;
  char *text = read_sample(name, &bytes);
  ptx_module *module = parse(text);
  free(text);
  return module;
}

static char *printed(const ptx_module *module) {
  char *text = NULL;
  size_t bytes;
  FILE *out = open_memstream(&text, &bytes);
  assert_non_null(out);
  print_module(out, module);
  fclose(out);
  return text;
}

static void every_tree_holds_together(void **state) {
  (void)state;
  for (int i = 0; i < FILES; i++) {
    ptx_module *module = parse_sample(files[i]);
    const char *fault = tree_fault(module);
    if (fault) fail_msg("%s: %s", files[i], fault);
    assert_true(module->func_count > 0);
    ptx_free(module);
  }
}

static void a_printed_tree_reads_back_as_itself(void **state) {
  (void)state;
  for (int i = 0; i < FILES; i++) {
    ptx_module *first = parse_sample(files[i]);
    char *once = printed(first);
    ptx_module *second = parse(once);
    char *twice = printed(second);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    ptx_free(first);
    ptx_free(second);
  }
}

/* --- what only the source tells ----------------------------------------------------------------
 */

static const ptx_instr *find_opcode(const ptx_func *func, const char *opcode) {
  for (int i = 0; i < func->instr_count; i++)
    if (func->body[i].opcode && strcmp(func->body[i].opcode, opcode) == 0) return &func->body[i];
  fail_msg("no %s", opcode);
  return NULL;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* inline.cu: atomicCAS of a header, in find_slot (line 11), in the kernel (line 21) */
static void an_atomic_leads_back_to_the_line_that_calls_it(void **state) {
  (void)state;
  ptx_module *module = parse_sample("inline");
  const ptx_place *place = find_opcode(ptx_find(module, "insert"), "atom")->place;
  assert_string_equal(base_name(place->file), "device_atomic_functions.hpp");
  place = place->inlined_at;
  assert_string_equal(base_name(place->file), "inline.cu");
  assert_int_equal(place->line, 11);
  assert_int_equal(place->inlined_at->line, 21);
  assert_null(place->inlined_at->inlined_at);
  ptx_free(module);
}

static void a_packed_struct_keeps_its_pointers(void **state) {
  (void)state;
  ptx_module *module = parse_sample("data");
  const ptx_var *pair = module_var(module, "pair"), *table = module_var(module, "table");
  const uint8_t zeros[8] = {0};
  const int32_t want[12] = {1, 2, 3, 4, 5};
  assert_int_equal(pair->count, 22);
  assert_int_equal(pair->reloc_count, 2);
  assert_int_equal(pair->relocs[0].at, 1); /* struct tight is {char, pointer, short}: 11 bytes */
  assert_int_equal(pair->relocs[0].addend, 1);
  assert_int_equal(pair->relocs[1].at, 12);
  assert_int_equal(pair->relocs[1].bytes, 8);
  assert_memory_equal(pair->init + 1, zeros, 8);
  assert_int_equal(pair->init[9], 2);
  assert_memory_equal(table->init, want, sizeof want);
  ptx_free(module);
}

static void rust_jumps_by_a_table_of_five(void **state) {
  (void)state;
  ptx_module *module = parse_sample("pick");
  const ptx_func *func = ptx_find(module, "pick_all");
  const ptx_operand *table = &find_opcode(func, "brx")->operands[1];
  assert_int_equal(table->kind, PTX_OP_LABEL);
  assert_int_equal(func->targets[table->bits].count, 5);
  ptx_free(module);
}

static void inline_assembly_has_registers_of_its_own(void **state) {
  (void)state;
  ptx_module *module = parse_sample("assembly");
  const ptx_func *func = ptx_find(module, "assembly");
  int done = 0, t1 = 0;
  for (int i = 0; i < func->reg_count; i++) {
    done += strcmp(func->regs[i].name, "done") == 0; /* wait() is inlined twice */
    t1 += strcmp(func->regs[i].name, "t1") == 0;     /* a .b32 and, deeper, a .b64 */
  }
  assert_int_equal(done, 2);
  assert_int_equal(t1, 2);
  ptx_free(module);
}

/* --- ptxas -------------------------------------------------------------------------------------
 */

/* Drops what a printed tree cannot have: places, pragmas, `debug` and all behind the first .file.
 */
static void strip(char *text) {
  char *to = text, *debug = strstr(text, ", debug");
  if (debug) memcpy(debug, "       ", 7);
  for (char *line = text, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    next += *next == '\n';
    const char *word = line + strspn(line, " \t");
    if (strncmp(word, ".file", 5) == 0) break;
    if (strncmp(word, ".loc\t", 5) == 0 || strncmp(word, ".pragma", 7) == 0) continue;
    memmove(to, line, (size_t)(next - line));
    to += next - line;
  }
  *to = 0;
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* The cubin that ptxas makes of the text. */
static char *assemble(const char *folder, const char *target, const char *text, size_t *bytes) {
  char ptx[300], cubin[300], command[800];
  snprintf(ptx, sizeof ptx, "%s/t.ptx", folder);
  snprintf(cubin, sizeof cubin, "%s/t.cubin", folder);
  snprintf(command, sizeof command, "ptxas -arch=%s %s -o %s", target, ptx, cubin);
  write_text(ptx, text);
  if (system(command) != 0) fail_msg("%s fails on:\n%s", command, text);
  char *out = read_text(cubin, bytes);
  unlink(ptx);
  unlink(cubin);
  return out;
}

static const char *section_name(const char *elf, int i, const Elf64_Shdr **section) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)elf;
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(const void *)(elf + header->e_shoff);
  *section = i < header->e_shnum ? &sections[i] : NULL;
  return *section ? elf + sections[header->e_shstrndx].sh_offset + sections[i].sh_name : NULL;
}

static bool is_code_or_data(const char *name) {
  return strncmp(name, ".text.", 6) == 0 || strncmp(name, ".nv.global", 10) == 0 ||
         strncmp(name, ".nv.constant", 12) == 0 || strncmp(name, ".nv.shared", 10) == 0;
}

/* Sections of code and data of `a` that are the same in `b`; fails when one is not. */
static int compare_code(const char *name, const char *a, const char *b) {
  const Elf64_Shdr *x, *y;
  int same = 0;
  const char *section;
  for (int i = 0; (section = section_name(a, i, &x)); i++) {
    if (!is_code_or_data(section)) continue;
    int j = 0;
    const char *other;
    while ((other = section_name(b, j, &y)) && strcmp(other, section)) j++;
    if (!other || x->sh_size != y->sh_size ||
        (x->sh_type != SHT_NOBITS && memcmp(a + x->sh_offset, b + y->sh_offset, x->sh_size)))
      fail_msg("%s: %s differs", name, section);
    same++;
  }
  return same;
}

static void ptxas_makes_the_same_code_of_the_tree(void **state) {
  (void)state;
  if (system("ptxas --version >/dev/null 2>&1") != 0) skip();
  char folder[] = "/tmp/perigee_ptx_XXXXXX";
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < FILES; i++) {
    size_t bytes;
    char *text = read_sample(files[i], &bytes);
    ptx_module *module = parse(text);
    char *tree = printed(module);
    strip(text);
    char *want = assemble(folder, module->target, text, &bytes);
    char *got = assemble(folder, module->target, tree, &bytes);
    assert_true(compare_code(files[i], want, got) >= 2); /* code and the constant bank at least */
    free(text);
    free(tree);
    free(want);
    free(got);
    ptx_free(module);
  }
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_tree_holds_together),
      cmocka_unit_test(a_printed_tree_reads_back_as_itself),
      cmocka_unit_test(an_atomic_leads_back_to_the_line_that_calls_it),
      cmocka_unit_test(a_packed_struct_keeps_its_pointers),
      cmocka_unit_test(rust_jumps_by_a_table_of_five),
      cmocka_unit_test(inline_assembly_has_registers_of_its_own),
      cmocka_unit_test(ptxas_makes_the_same_code_of_the_tree),
  };
  return cmocka_run_group_tests_name("ptx_file", tests, NULL, NULL);
}
