/* Asynchronous copies (cp.async) in sim:check: what a copy writes has happened when its thread has
 * waited for it, and until then is unordered even with the thread itself. The copies between two
 * commits are a batch; a record of one names its batch, and here stands when that was complete. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "control.h"

uint32_t sim_copied(const sim_block *b, uint32_t thread, uint32_t time) {
  const sim_order *o = &b->check->warps[thread >> 5 & 31];
  uint32_t batch = time & ~SIM_COPYING;
  return batch < o->batches ? o->copied[batch][thread & 31] : 0;
}

void sim_copies_reset(sim_block *b) {
  for (uint32_t i = 0; i < b->warp_count; i++) {
    sim_order *o = &b->check->warps[i];
    if (!o->batches) continue;
    memset(o->copied, 0, o->batches * sizeof *o->copied);
    memset(o->batch, 0, sizeof o->batch);
    memset(o->base, 0, sizeof o->base);
    memset(o->done, 0, sizeof o->done);
  }
}

static bool make_room(sim_order *o, uint32_t batch) {
  if (batch < o->batches) return true;
  uint32_t batches = batch < 16 ? 16 : batch * 2;
  void *copied = realloc(o->copied, batches * sizeof *o->copied);
  if (!copied) return false;
  o->copied = copied;
  memset(o->copied + o->batches, 0, (batches - o->batches) * sizeof *o->copied);
  o->batches = batches;
  return true;
}

/* Batches of a lane below `end` are complete now. */
static void complete(sim_order *o, uint32_t lane, uint32_t end, uint32_t now) {
  for (; o->done[lane] < end && make_room(o, o->done[lane]); o->done[lane]++)
    o->copied[o->done[lane]][lane] = now;
}

/* Groups are counted from the last wait for all: what was before it is complete. */
const sim_op *sim_op_check_copies(sim_warp *w, const sim_op *op) {
  sim_order *o = &w->block->check->warps[w->index];
  int64_t what = (int64_t)op->imm;
  uint32_t now = w->block->check->time;
  make_room(o, 0); /* so that the next block starts anew */
  for (uint32_t i = 0; i < SIM_LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    if (what == SIM_COPIES_COMMIT) {
      o->batch[i]++;
    } else if (what == SIM_COPIES_ALL) {
      complete(o, i, ++o->batch[i], now);
      o->base[i] = o->batch[i];
    } else if (what <= (int64_t)(o->batch[i] - o->base[i])) {
      complete(o, i, o->batch[i] - (uint32_t)what, now);
    }
  }
  return op + 1;
}
