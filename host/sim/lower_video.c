/* Lowering of video instructions: types and modifiers of the opcode, parts of the registers. Not in
 * are .sat, .min, .max, .shr7, .shr15 and written parts of scalar ones: the machine code of sm_90
 * does other things there than the manual says. */
#include <string.h>

#include "lower.h"

/* ---- modifiers ---- */

static bool opcode_of(const char *opcode, sim_video *v) {
  static const char *const NAMES[] = {"vadd",  "vsub", "vabsdiff", "vmin", "vmax",
                                      "vavrg", "vshl", "vshr",     "vset", "vmad"};
  size_t n = strlen(opcode);
  char last = opcode[n - 1];
  v->ways = last == '2' ? 2 : last == '4' ? 4 : 1;
  n -= v->ways > 1;
  for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
    if (strlen(NAMES[i]) != n || strncmp(NAMES[i], opcode, n) != 0) continue;
    v->what = i & 15u;
    return true;
  }
  return false;
}

/* .dtype.atype.btype; comparisons give an unsigned 1 or 0 and have no .dtype. */
static int types_of(const ptx_instr *instr, sim_video *v) {
  int first = v->what == SIM_VSET ? 0 : 1, count = first + 2;
  if (instr->mod_count < count) return -1;
  bool sign[3];
  for (int i = 0; i < count; i++) {
    sign[i] = strcmp(instr->mods[i], "s32") == 0;
    if (!sign[i] && strcmp(instr->mods[i], "u32") != 0) return -1;
  }
  v->d_signed = first && sign[0];
  v->a_signed = sign[first];
  v->b_signed = sign[first + 1];
  return count;
}

static bool modifier(const char *mod, sim_video *v) {
  static const char *const COMPARE[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  bool shifts = v->what == SIM_VSHL || v->what == SIM_VSHR;
  for (unsigned i = 0; v->what == SIM_VSET && i < 6; i++) {
    if (strcmp(mod, COMPARE[i]) != 0) continue;
    v->mode = i & 7u;
    return true;
  }
  if (shifts && strcmp(mod, "clamp") == 0) return true;
  if (shifts && strcmp(mod, "wrap") == 0) return (v->mode = SIM_VIDEO_WRAP);
  if (v->what == SIM_VMAD) return strcmp(mod, "po") == 0 && (v->plus_one = true);
  if (strcmp(mod, "add") == 0) return (v->adds = true);
  return v->ways > 1 && v->what != SIM_VSET && strcmp(mod, "sat") == 0 && (v->saturate = true);
}

/* ---- parts of registers ---- */

static bool scalar_part(const char *name, unsigned *selector) {
  static const char *const PARTS[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
  *selector = SIM_VIDEO_WORD;
  for (unsigned i = 0; name && i < 6; i++) {
    if (strcmp(name, PARTS[i]) == 0) *selector = i + SIM_VIDEO_B0;
  }
  return !name || *selector;
}

/* "b7023": which of both sources' pieces goes where, the highest first. */
static bool pieces(const char *name, unsigned ways, unsigned first, unsigned *selector) {
  *selector = 0;
  for (unsigned i = 0; i < ways; i++) {
    unsigned at = name && strlen(name) == ways + 1 ? (unsigned)(name[ways - i] - '0') : first + i;
    if (at >= 2 * ways) return false;
    *selector |= at << 4 * i;
  }
  return !name || (strlen(name) == ways + 1 && name[0] == (ways == 2 ? 'h' : 'b'));
}

/* "b310": the pieces that are written. */
static bool written(const char *name, unsigned ways, unsigned *mask) {
  *mask = name ? 0 : (1u << ways) - 1;
  if (!name || !*name) return !name;
  for (const char *c = name + 1; *c; c++) {
    if (*c < '0' || *c >= '0' + (char)ways) return false;
    *mask |= 1u << (*c - '0');
  }
  return name[0] == (ways == 2 ? 'h' : 'b') && *mask;
}

static bool parts(const ptx_instr *instr, sim_video *v) {
  const ptx_operand *o = instr->operands;
  unsigned to, a, b;
  bool ok = v->ways == 1 ? scalar_part(o[0].part, &to) && scalar_part(o[1].part, &a) &&
                               scalar_part(o[2].part, &b)
                         : written(o[0].part, v->ways, &to) && pieces(o[1].part, v->ways, 0, &a) &&
                               pieces(o[2].part, v->ways, v->ways, &b);
  if (!ok) return false;
  v->to = to & 15u;
  v->from_a = a & 0xffffu;
  v->from_b = b & 0xffffu;
  return true;
}

/* ---- the rule ---- */

static bool negations(const ptx_operand *o, int n, sim_video *v) {
  v->minus_product = o[1].negated != o[2].negated;
  v->minus_c = n == 4 && o[3].negated;
  bool some = o[1].negated || o[2].negated || v->minus_c;
  return !some || (v->what == SIM_VMAD && !v->plus_one && !(v->minus_product && v->minus_c));
}

static bool lower_video(lowering *l, const ptx_instr *instr) {
  sim_video v = {0};
  int i = opcode_of(instr->opcode, &v) ? types_of(instr, &v) : -1;
  for (; i >= 0 && i < instr->mod_count; i++) {
    if (!modifier(instr->mods[i], &v)) i = -2;
  }
  if (i < 0) return lower_unsupported(l, "this form");
  int n = v.ways > 1 || v.what == SIM_VMAD || v.adds ? 4 : 3;
  if (!lower_operands(l, n, n)) return false;
  const ptx_operand *o = instr->operands;
  if (!parts(instr, &v) || (v.ways == 1 && v.to != SIM_VIDEO_WORD))
    return lower_unsupported(l, "this part of a register");
  if (!negations(o, n, &v)) return lower_unsupported(l, "this negation");
  uint32_t wide, a = lower_source(l, &o[1], '4'), b = lower_source(l, &o[2], '4');
  uint32_t c = n == 4 ? lower_source(l, &o[3], '4') : a, d = lower_dest(l, &o[0], '4', &wide);
  sim_op *op = lower_emit(l, sim_op_video);
  op->d = d;
  op->a = a;
  op->b = b;
  op->c = c;
  memcpy(&op->imm, &v, sizeof v);
  return !l->code;
}

#define SIZES(name)                                             \
  {name, lower_video, false}, {name "2", lower_video, false}, { \
    name "4", lower_video, false                                \
  }
const lower_entry lower_video_rules[] = {SIZES("vadd"),
                                         SIZES("vsub"),
                                         SIZES("vabsdiff"),
                                         SIZES("vmin"),
                                         SIZES("vmax"),
                                         SIZES("vset"),
                                         {"vavrg2", lower_video, false},
                                         {"vavrg4", lower_video, false},
                                         {"vshl", lower_video, false},
                                         {"vshr", lower_video, false},
                                         {"vmad", lower_video, false},
                                         {NULL, NULL, false}};
