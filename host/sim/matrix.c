/* Matrix micro-ops of a whole warp: mma, ldmatrix, stmatrix, movmatrix. Operand micro-ops that
 * follow hold the slots of the fragments. */
#include <math.h>
#include <string.h>

#include "access.h"
#include "control.h"
#include "exact.h"

#define SLOT(T, offset) ((T##_slot *)(void *)(w->regs + (offset)))

enum { ROWS = 16, COLUMNS = 8, DEPTH = 256 };

/* ---- mma ---- */

/* Element j of a 32-bit register that holds `per` of them. */
static double element(sim_element type, u32 bits, u32 j) {
  switch (type) {
  case SIM_F16: return half_f32(bits >> j * 16 & 0xffff);
  case SIM_BF16: return bfloat_f32(bits >> j * 16 & 0xffff);
  case SIM_TF32: return bits_f32(bits & 0xffffe000u); /* the hardware ignores the low bits */
  case SIM_S8: return (s8)(bits >> j * 8);
  case SIM_U8: return (u8)(bits >> j * 8);
  case SIM_S4: return (s32)(bits << (28 - j * 4)) >> 28;
  case SIM_U4: return bits >> j * 4 & 15;
  case SIM_B1:
  case SIM_B1_XOR: return bits >> j & 1;
  default: return bits_f32(bits);
  }
}

static double fetch(const sim_warp *w, sim_element type, u32 slot, u32 lane, u32 j) {
  if (type == SIM_F64) return SLOT(f64, slot)[lane];
  if (type == SIM_S32) return (s32)SLOT(s32, slot)[lane];
  return element(type, SLOT(u32, slot)[lane], j);
}

/* Products and sums of floats are exact or nearly so in binary64; the sum is rounded once. */
static double dot(const sim_mma *m, const double *a, double b[DEPTH][COLUMNS], u32 column,
                  double c) {
  for (u32 k = 0; m->b == SIM_B1_XOR && k < m->depth; k++) c += a[k] != b[k][column];
  if (m->b == SIM_B1_XOR) return c;
  for (u32 k = 0; k < m->depth; k++)
    c = m->a == SIM_F64 ? __builtin_fma(a[k], b[k][column], c) : c + a[k] * b[k][column];
  return c;
}

static void put_sum(const sim_warp *w, const sim_mma *m, u32 slot, u32 lane, u32 j, double x) {
  if (m->c == SIM_F64) {
    SLOT(f64, slot)[lane] = quiet64(x);
  } else if (m->c == SIM_S32) {
    s64 sum = (s64)x;
    if (m->saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    SLOT(u32, slot)[lane] = (u32)sum;
  } else if (m->c == SIM_F32) {
    SLOT(f32, slot)[lane] = quiet32((float)x);
  } else {
    u32 half = (u32)(x != x ? 0x7fff : sim_narrow(&FORMAT_f16, x, 'n'));
    u32 *d = (u32 *)SLOT(u32, slot) + lane;
    *d = (*d & ~(0xffffu << j * 16)) | half << j * 16;
  }
}

/* Register r of A holds, for lane 4g + t, row g + 8 (r & 1), columns from per (t + 4 (r / 2)) on;
 * of B rows from per (t + 4 r) on of column g; of C row g + 8 (i / 2), column 2 t + (i & 1). */
const sim_op *sim_op_mma(sim_warp *w, const sim_op *op) {
  sim_mma m;
  memcpy(&m, &op->imm, sizeof m);
  double a[ROWS][DEPTH], b[DEPTH][COLUMNS], c[ROWS][COLUMNS];
  const sim_op *slot_a = op + 1, *slot_b = slot_a + sim_mma_a(&m), *slot_c = slot_b + sim_mma_b(&m);
  const sim_op *slot_d = slot_c + sim_mma_c(&m);
  u32 sums = m.rows / 4, per_c = m.c == SIM_F16 ? 2 : 1;
  for (u32 lane = 0; lane < SIM_LANES; lane++) {
    u32 g = lane / 4, t = lane % 4, wide = m.rows / 8;
    for (u32 r = 0; r < sim_mma_a(&m); r++) {
      for (u32 j = 0; j < m.per; j++)
        a[g + 8 * (r % wide)][m.per * (t + 4 * (r / wide)) + j] =
            fetch(w, (sim_element)m.a, slot_a[r].a, lane, j);
    }
    for (u32 r = 0; r < sim_mma_b(&m); r++) {
      for (u32 j = 0; j < m.per; j++)
        b[m.per * (t + 4 * r) + j][g] = fetch(w, (sim_element)m.b, slot_b[r].a, lane, j);
    }
    for (u32 i = 0; i < sums; i++)
      c[g + 8 * (i / 2)][2 * t + (i & 1)] =
          fetch(w, (sim_element)m.c, slot_c[i / per_c].a, lane, i % per_c);
  }
  for (u32 lane = 0; lane < SIM_LANES; lane++) {
    for (u32 i = 0; i < sums; i++) {
      u32 row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + (i & 1);
      put_sum(w, &m, slot_d[i / per_c].a, lane, i % per_c,
              dot(&m, a[row], b, column, c[row][column]));
    }
  }
  return slot_d + sim_mma_c(&m);
}

/* ---- ldmatrix, stmatrix ---- */

static u64 row_address(const sim_warp *w, const sim_op *op, u32 lane) {
  u64 base = op->narrow == 2   ? 0
             : op->narrow == 1 ? SLOT(u32, op->a)[lane]
                               : SLOT(u64, op->a)[lane];
  return base + op->imm;
}

/* Rows of 16 bytes at the addresses of lanes 8 m + r; lane i holds elements 2 (i % 4) and the next
 * of row i / 4, or with .trans of column i / 4. */
static u32 place(bool transposed, u32 lane, u32 j, u32 *row) {
  *row = transposed ? 2 * (lane % 4) + j : lane / 4;
  return transposed ? lane / 4 : 2 * (lane % 4) + j;
}

const sim_op *sim_op_ldmatrix(sim_warp *w, const sim_op *op) {
  u16 rows[SIM_LANES][8];
  u32 count = op->e;
  for (u32 i = 0; i < count * 8; i++) {
    const uint8_t *at = sim_lane_pointer(w, op, (int)i, row_address(w, op, i), 16);
    if (!at) return NULL;
    memcpy(rows[i], at, 16);
  }
  for (u32 m = 0; m < count; m++) {
    for (u32 lane = 0; lane < SIM_LANES; lane++) {
      u32 row, low = place(op->negated, lane, 0, &row), value = rows[8 * m + row][low];
      u32 high = place(op->negated, lane, 1, &row);
      SLOT(u32, op[1 + m].a)[lane] = value | (u32)rows[8 * m + row][high] << 16;
    }
  }
  return op + 1 + count;
}

const sim_op *sim_op_stmatrix(sim_warp *w, const sim_op *op) {
  u16 rows[SIM_LANES][8];
  u32 count = op->e;
  for (u32 m = 0; m < count; m++) {
    for (u32 lane = 0; lane < SIM_LANES; lane++) {
      for (u32 j = 0; j < 2; j++) {
        u32 row, column = place(op->negated, lane, j, &row);
        rows[8 * m + row][column] = (u16)(SLOT(u32, op[1 + m].a)[lane] >> j * 16);
      }
    }
  }
  for (u32 i = 0; i < count * 8; i++) {
    uint8_t *at = sim_lane_target(w, op, (int)i, row_address(w, op, i), 16);
    if (!at) return NULL;
    memcpy(at, rows[i], 16);
  }
  return op + 1 + count;
}

const sim_op *sim_op_movmatrix(sim_warp *w, const sim_op *op) {
  u32 from[SIM_LANES];
  memcpy(from, SLOT(u32, op->a), sizeof from);
  for (u32 lane = 0; lane < SIM_LANES; lane++) {
    u32 value = 0;
    for (u32 j = 0; j < 2; j++) { /* element (lane / 4, 2 (lane % 4) + j) of the transposed */
      u32 row = 2 * (lane % 4) + j, column = lane / 4;
      value |= (from[row * 4 + column / 2] >> (column & 1) * 16 & 0xffff) << j * 16;
    }
    SLOT(u32, op->d)[lane] = value;
  }
  return op + 1;
}
