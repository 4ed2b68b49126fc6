/* Video instructions: a scalar of 32 bits, or two halves or four bytes, chosen from the sources,
 * widened, combined, and then merged into or added to a third source. */
#include <string.h>

#include "control.h"
#include "exact.h"

#define SLOT(T, offset) ((T##_slot *)(void *)(w->regs + (offset)))

/* Bits [at, at + bits) of x, with a sign or without. */
static s64 piece(u64 x, u32 at, u32 bits, bool sign) {
  u64 raw = x >> at & ((1ull << bits) - 1);
  return sign && raw >> (bits - 1) ? (s64)(raw | ~0ull << bits) : (s64)raw;
}

/* What a selector of a scalar names. */
static u32 bits_of(u32 selector) {
  return selector == SIM_VIDEO_WORD ? 32 : selector < SIM_VIDEO_H0 ? 8 : 16;
}

static u32 place_of(u32 selector) {
  return selector == SIM_VIDEO_WORD ? 0
         : selector < SIM_VIDEO_H0  ? 8 * (selector - SIM_VIDEO_B0)
                                    : 16 * (selector - SIM_VIDEO_H0);
}

static s64 chosen(u32 x, u32 selector, bool sign) {
  return piece(x, place_of(selector), bits_of(selector), sign);
}

static bool compare(u32 how, s64 a, s64 b) {
  switch (how) {
  case SIM_VIDEO_EQ: return a == b;
  case SIM_VIDEO_NE: return a != b;
  case SIM_VIDEO_LT: return a < b;
  case SIM_VIDEO_LE: return a <= b;
  case SIM_VIDEO_GT: return a > b;
  default: return a >= b;
  }
}

static s128 combine(const sim_video *v, s64 a, s64 b) {
  s64 by = v->mode == SIM_VIDEO_WRAP ? b & 31 : b > 32 ? 32 : b;
  switch (v->what) {
  case SIM_VADD: return a + b;
  case SIM_VSUB: return a - b;
  case SIM_VABSDIFF: return a < b ? b - a : a - b;
  case SIM_VMIN: return a < b ? a : b;
  case SIM_VMAX: return a > b ? a : b;
  case SIM_VAVRG: return (a + b + (a + b >= 0)) >> 1;
  case SIM_VSHL: return (s128)a * ((s128)1 << by);
  case SIM_VSHR: return a >> by;
  default: return compare(v->mode, a, b);
  }
}

static s128 clamp(s128 x, u32 bits, bool sign) {
  s128 most = ((s128)1 << (bits - sign)) - 1, least = sign ? -most - 1 : 0;
  return x > most ? most : x < least ? least : x;
}

static u32 scalar(const sim_video *v, u32 a, u32 b, u32 c) {
  s128 r = combine(v, chosen(a, v->from_a, v->a_signed), chosen(b, v->from_b, v->b_signed));
  return (u32)r + (v->adds ? c : 0);
}

/* Several at once; the pieces of the sources come from both registers. */
static u32 parallel(const sim_video *v, u32 a, u32 b, u32 c) {
  u64 both = (u64)b << 32 | a;
  u32 bits = 32 / v->ways, mask = (1u << bits) - 1, result = v->adds ? c : 0;
  for (u32 i = 0; i < v->ways; i++) {
    u32 from_a = v->from_a >> 4 * i & 15, from_b = v->from_b >> 4 * i & 15;
    s128 r = combine(v, piece(both, bits * from_a, bits, v->a_signed),
                     piece(both, bits * from_b, bits, v->b_signed));
    if (v->saturate) r = clamp(r, bits, v->d_signed);
    bool wanted = v->to >> i & 1;
    if (v->adds)
      result += wanted ? (u32)r : 0;
    else
      result |= ((wanted ? (u32)r : c >> i * bits) & mask) << i * bits;
  }
  return result;
}

/* a b + c; the product or c may be negated, as ~x + 1. */
static u32 multiply(const sim_video *v, u32 a, u32 b, u32 c) {
  s128 r = (s128)chosen(a, v->from_a, v->a_signed) * chosen(b, v->from_b, v->b_signed);
  if (v->minus_product) r = ~r;
  if (v->minus_c) c = ~c;
  return (u32)r + c + (v->plus_one || v->minus_product || v->minus_c);
}

const sim_op *sim_op_video(sim_warp *w, const sim_op *op) {
  sim_video v;
  memcpy(&v, &op->imm, sizeof v);
  for (u32 i = 0; i < SIM_LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    u32 a = SLOT(u32, op->a)[i], b = SLOT(u32, op->b)[i], c = SLOT(u32, op->c)[i];
    SLOT(u32, op->d)
    [i] = v.what == SIM_VMAD ? multiply(&v, a, b, c)
          : v.ways > 1       ? parallel(&v, a, b, c)
                             : scalar(&v, a, b, c);
  }
  return op + 1;
}
