// Stage "fuse" with sums in a layout of its own: the five of a voxel stand together, and four of
// them are one addition (compute capability 9.0). `export_own` brings them into the task's arrays.
//
// One pass: the insert already knows the block. A thread takes RUN points that follow each other
// and adds up what goes to the same voxel before it asks memory; `fuse_own_warp` goes on to do so
// among the threads of a warp.
#include "lean_walk.cuh"
#include "warp_sum.cuh"

// Knobs, with the values that a compilation without them gets.
#ifndef BLOCK
#define BLOCK 256 // threads in a block
#endif
#ifndef RUN
#define RUN 1 // points a thread
#endif
#ifndef FLOATS
#define FLOATS 8 // a voxel: 8, its sums in a sector of their own; 5, the last one in another array
#endif
#ifndef PAIR
#define PAIR 1 // two lanes add the two halves of a voxel's sector with one instruction
#endif
#ifndef AHEAD
#define AHEAD 1 // terms between the prefetch of a voxel and the addition to it
#endif
#ifndef PER_SM
#define PER_SM 0 // blocks that a multiprocessor must hold: fewer registers a thread; 0: no matter
#endif
#ifndef BRICK
#define BRICK 1 // the voxels of a block in bricks of 2 x 2 x 2 rather than in rows of 8
#endif

#ifndef LEAN
#define LEAN 1 // the walk of lean_walk.cuh
#endif
#if __CUDA_ARCH__ < 900
#undef PAIR
#define PAIR 0 // without vectors the fifth sum would come with three zeros to add
#endif

#if PER_SM
#define BOUNDS __launch_bounds__(BLOCK, PER_SM)
#else
#define BOUNDS __launch_bounds__(BLOCK)
#endif

constexpr u32 kNoVoxel = 0xffffffffu;
constexpr bool kPairs = PAIR && FLOATS == 8;

// ---- the layout ----

struct Sums {
  float *at;
  size_t voxels; // in the pool
};

// What a voxel is given: weighted distance, weight and weighted colour.
struct Term {
  float tsdf;
  Observation seen;
};

__device__ inline u32 voxel_of(int block, const Sample &s) {
  const u32 inside = BRICK ? (s.x & 1) | (s.y & 1) << 1 | (s.z & 1) << 2 | (s.x & 6) << 2 |
                                 (s.y & 6) << 4 | (s.z & 6) << 6
                           : voxel_in_block(s);
  return (u32)block * 512 + inside;
}

// Index of a voxel within its block in the task's layout, from that of this one.
__device__ inline u32 row_major(u32 v) {
  if (!BRICK) return v;
  const u32 x = (v & 1) | (v >> 2 & 6), y = (v >> 1 & 1) | (v >> 4 & 6);
  const u32 z = (v >> 2 & 1) | (v >> 6 & 6);
  return x | y << 3 | z << 6;
}

__device__ inline float *four_of(const Sums &sums, u32 voxel) {
  return sums.at + (size_t)voxel * (FLOATS == 8 ? 8 : 4);
}

__device__ inline float *fifth_of(const Sums &sums, u32 voxel) {
  return FLOATS == 8 ? four_of(sums, voxel) + 4 : sums.at + 4 * sums.voxels + voxel;
}

__device__ inline void add_four(float *at, float a, float b, float c, float d) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                   __cvta_generic_to_global(at)),
               "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
#else
  atomicAdd(at, a);
  atomicAdd(at + 1, b);
  atomicAdd(at + 2, c);
  atomicAdd(at + 3, d);
#endif
}

__device__ inline void prefetch(const float *at) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
}

// Neighbouring lanes help each other: of the two voxels that they hold, first one and then the
// other gets both its halves from the two lanes at once, which is one access to a whole sector.
// All lanes of the warp take part, those without a voxel with kNoVoxel.
__device__ inline void add_in_pairs(const Sums &sums, u32 voxel, const Term &own) {
  const u32 others = __shfl_xor_sync(kFullWarp, voxel, 1);
  const float fifth = __shfl_xor_sync(kFullWarp, own.seen.b, 1);
  const bool odd = threadIdx.x & 1;
#pragma unroll
  for (int turn = 0; turn < 2; ++turn) {
    const bool mine = odd == (turn == 1);
    const u32 target = mine ? voxel : others;
    if (target == kNoVoxel) continue;
    float *at = mine ? four_of(sums, target) : fifth_of(sums, target);
    add_four(at, mine ? own.tsdf : fifth, mine ? own.seen.weight : 0.0f, mine ? own.seen.r : 0.0f,
             mine ? own.seen.g : 0.0f);
  }
}

__device__ inline void add_sums(const Sums &sums, u32 voxel, const Term &term) {
  if (kPairs) return add_in_pairs(sums, voxel, term);
  if (voxel == kNoVoxel) return;
  add_four(four_of(sums, voxel), term.tsdf, term.seen.weight, term.seen.r, term.seen.g);
  atomicAdd(fifth_of(sums, voxel), term.seen.b);
}

// ---- what becomes of terms: sinks ----

// All lanes of the warp take part in `put` and `finish`; those without a term give kNoVoxel.

struct Direct {
  Sums sums;

  __device__ void put(u32 voxel, const Term &term) {
    add_sums(sums, voxel, term);
  }
};

// Adds up first what the lanes of a warp have for one voxel.
struct Merged {
  Sums sums;

  __device__ void put(u32 voxel, Term term) {
    const u32 adding = __ballot_sync(kFullWarp, voxel != kNoVoxel), lane = threadIdx.x & 31;
    const u32 same = voxel != kNoVoxel ? __match_any_sync(adding, voxel) : 0;
    sum_of_group(same, lane, term.tsdf, term.seen);
    if ((int)lane != __ffs((int)same) - 1) voxel = kNoVoxel;
    add_sums(sums, voxel, term);
  }
};

// Asks the L2 cache for a voxel's sums a few terms before these are added: an addition that misses
// there holds up those behind it, a prefetch does not.
template <class Sink> struct Ahead {
  static constexpr int kDepth = AHEAD > 0 ? AHEAD : 1;
  Sink sink;
  u32 voxels[kDepth];
  Term terms[kDepth];

  __device__ explicit Ahead(const Sums &sums) : sink{sums} {
    for (int i = 0; i < kDepth; ++i) voxels[i] = kNoVoxel;
  }
  __device__ void put(u32 voxel, const Term &term) {
    if (AHEAD == 0) return sink.put(voxel, term);
    if (voxel != kNoVoxel) {
      prefetch(four_of(sink.sums, voxel));
      if (FLOATS != 8) prefetch(fifth_of(sink.sums, voxel));
    }
    sink.put(voxels[0], terms[0]);
#pragma unroll
    for (int i = 0; i + 1 < kDepth; ++i) {
      voxels[i] = voxels[i + 1];
      terms[i] = terms[i + 1];
    }
    voxels[kDepth - 1] = voxel;
    terms[kDepth - 1] = term;
  }
  __device__ void finish() {
    if (AHEAD == 0) return;
#pragma unroll
    for (int i = 0; i < kDepth; ++i) sink.put(voxels[i], terms[i]);
  }
};

// ---- the pass ----

// The block of each asking lane; one lane asks for all of its warp that want the same. All lanes of
// the warp take part.
__device__ inline int block_of(const Pool &pool, bool asks, const Sample &at, int known) {
  const u32 asking = __ballot_sync(kFullWarp, asks);
  if (asking == 0) return known;
  int block = known;
  if (asks) {
    const int x = at.x >> 3, y = at.y >> 3, z = at.z >> 3;
    const u32 same = __match_any_sync(asking, block_key(x, y, z));
    const int leader = __ffs((int)same) - 1;
    if ((int)(threadIdx.x & 31) == leader)
      block = find_or_insert<Publish::before_coord>(pool, x, y, z);
    block = __shfl_sync(same, block, leader);
  }
  __syncwarp();
  return block;
}

struct Fusion {
  const float *points, *point_weight;
  const unsigned char *point_color;
  int n, steps;
  Camera cam;
  Grid grid;
  float inv_trunc, weight_cap;
};

// A point on its way along its ray, and the block that it was in last.
struct Walker {
  Ray ray;
  Observation seen;
  Sample last; // a sample in that block
  int block;
};

__device__ inline Walker walker_of(const Fusion &f, int i) {
  const int nowhere = 1 << 30; // in no block of the key's range
  return {ray_to(f.points, i, f.cam),
          observation_of(f.point_weight, f.point_color, i),
          {nowhere, nowhere, nowhere, 0.0f},
          kDropped};
}

__device__ inline bool share_block(const Sample &a, const Sample &b) {
  return (((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z)) & ~7) == 0;
}

// The voxel that a walker adds to at a step, kNoVoxel for none. Its block is that of the walker
// beside it, or its own last one, or the table is asked. All lanes take part.
__device__ inline u32 step(const Fusion &f, const Pool &pool, const Sums &sums, Walker &w,
                           const Walker &beside, bool lives, const Sample &sample) {
  const bool inside = lives && sample.sdf >= -f.grid.trunc;
  const bool found = share_block(sample, beside.last), stays = share_block(sample, w.last);
  const bool asks = inside && !found && !stays;
  w.block = block_of(pool, asks, sample, found ? beside.block : w.block);
  if (found || asks) w.last = sample;
  if (!inside || w.block < 0) return kNoVoxel;
  const u32 voxel = voxel_of(w.block, sample);
  const bool full = f.weight_cap > 0.0f && four_of(sums, voxel)[1] >= f.weight_cap;
  return full ? kNoVoxel : voxel;
}

__device__ inline void join(Term &sum, const Term &term) {
  sum.tsdf += term.tsdf;
  sum.seen.weight += term.seen.weight;
  sum.seen.r += term.seen.r;
  sum.seen.g += term.seen.g;
  sum.seen.b += term.seen.b;
}

// The points of one thread walk side by side, so that those that share a voxel meet there.
template <bool lean, int run, class Sink>
__device__ inline void walk(const Fusion &f, const Pool &pool, Sink &sink, Walker (&walkers)[run],
                            int live) {
  const Span span = span_of(f.steps);
  for (int s = span.first; s <= span.last; ++s) {
    u32 pending = kNoVoxel;
    Term sum = {};
#pragma unroll
    for (int k = 0; k < run; ++k) {
      Walker &w = walkers[k];
      const Sample sample =
          lean ? lean_sample_at(w.ray, s, f.cam, f.grid) : sample_at(w.ray, s, f.cam, f.grid);
      const u32 voxel =
          step(f, pool, sink.sink.sums, w, walkers[k > 0 ? k - 1 : 0], k < live, sample);
      const Term term = {clamped(sample.sdf, f.inv_trunc) * w.seen.weight, w.seen};
      const bool joins = k > 0 && voxel == pending;
      if (k > 0) sink.put(joins ? kNoVoxel : pending, sum);
      if (joins)
        join(sum, term);
      else
        sum = term;
      pending = voxel;
    }
    sink.put(pending, sum);
  }
  sink.finish();
}

// Lanes past the end walk the last ray but neither ask nor add.
template <int run, class Sink>
__device__ inline void fuse_points(const Fusion &f, const Pool &pool, Sink sink) {
  const int first = (int)(blockIdx.x * blockDim.x + threadIdx.x) * run;
  Walker walkers[run];
  bool near = LEAN;
#pragma unroll
  for (int k = 0; k < run; ++k) {
    walkers[k] = walker_of(f, min(first + k, f.n - 1));
    near = near && is_near(walkers[k].ray, f.steps, f.grid);
  }
  if (__all_sync(kFullWarp, near))
    walk<true>(f, pool, sink, walkers, f.n - first);
  else
    walk<false>(f, pool, sink, walkers, f.n - first);
}

#define PARAMETERS                                                                                \
  const float *points, const float *point_weight, const unsigned char *point_color, Entry *table, \
      int *coord, int *block_count, u64 *drop_count, float *sums, int n, int steps, float voxel,  \
      float inv_voxel, float trunc, float inv_trunc, float cam_x, float cam_y, float cam_z,       \
      u32 table_mask, int capacity, float weight_cap

#define FUSE(sink)                                                                \
  fuse_points<RUN>({points,                                                       \
                    point_weight,                                                 \
                    point_color,                                                  \
                    n,                                                            \
                    steps,                                                        \
                    {cam_x, cam_y, cam_z},                                        \
                    {voxel, inv_voxel, trunc},                                    \
                    inv_trunc,                                                    \
                    weight_cap},                                                  \
                   {table, table_mask, coord, block_count, drop_count, capacity}, \
                   Ahead<sink>({sums, (size_t)capacity * 512}))

extern "C" __global__ void BOUNDS fuse_own(PARAMETERS) {
  FUSE(Direct);
}
extern "C" __global__ void BOUNDS fuse_own_warp(PARAMETERS) {
  FUSE(Merged);
}

// ---- the task's layout ----

// One thread a voxel, 512 a block.
extern "C" __global__ void export_own(float *own, const int *block_count, float *tsdf,
                                      float *weight, float *r, float *g, float *b, int capacity) {
  if (blockIdx.x >= min(*block_count, capacity)) return;
  const Sums sums = {own, (size_t)capacity * 512};
  const u32 voxel = blockIdx.x * 512 + threadIdx.x;
  const size_t at = (size_t)blockIdx.x * 512 + row_major(threadIdx.x);
  const float *four = four_of(sums, voxel);
  tsdf[at] = four[0];
  weight[at] = four[1];
  r[at] = four[2];
  g[at] = four[3];
  b[at] = *fifth_of(sums, voxel);
}
