// The plain allocate and update with causes of their cost left out, for the split that
// irregularity.lua makes. These are no candidates: what most of them compute is of no use.
#include "allocate.cu"
#include "lattice.cuh"
#include "no_wait.cuh"
#include "update.cu"

// How a sample's block is found, from what the table does to what costs nothing.
enum class Look {
  probe,      // as it is
  chain,      // as many probes as the block's chain has, a number that the host knows
  warp_chain, // as many as the chain of the warp's first lane: no lane waits for another
  index,      // one load from a dense grid of blocks
  in_order,   // one load of that size, neighbouring lanes from neighbouring places
  none,       // no load
};

// Where a sample's sums are added.
enum class Place {
  own,      // in its voxel
  spread,   // in a voxel of the same 128 bytes, another one for each lane: no two lanes collide
  in_order, // neighbouring lanes in neighbouring voxels, as many voxels as were touched
};

enum class Add { atomic, store, none };

struct Known {
  const u32 *cell; // of each block of the lattice: its number | the length of its chain << 24
  Lattice lattice;
  u32 lines, magic; // 32 places each: what in_order walks through, and 2^32 / lines
};

// Place of a lane when warps go through `lines` one after the other, again and again.
__device__ inline u32 place_in_order(const Known &known, int s) {
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const u32 warps = (gridDim.x * blockDim.x) >> 5;
  const u32 turn = (u32)s * warps + warp;
  u32 line = turn - __umulhi(turn, known.magic) * known.lines;
  line = line < known.lines ? line : line - known.lines;
  return line * 32 + (threadIdx.x & 31);
}

// `count` probes along the chain of a block, each waiting for the one before as in `find`.
__device__ inline int probe_along(const Entry *table, u32 mask, u32 count, int x, int y, int z) {
  constexpr long long never = -3; // no key, but the compiler cannot know
  u32 slot = block_hash(x, y, z) & mask;
  Entry seen = load_entry(&table[slot]);
  while (seen.key != never && --count > 0) {
    slot = next_slot(slot, mask);
    seen = load_entry(&table[slot]);
  }
  return seen.key == never ? kDropped : 0;
}

template <Look look>
__device__ inline int look_up(const Known &known, const Entry *__restrict__ table, u32 mask,
                              const Sample &sample, int s) {
  const int x = sample.x >> 3, y = sample.y >> 3, z = sample.z >> 3;
  if constexpr (look == Look::probe) return find(table, mask, x, y, z);
  if constexpr (look == Look::none) return 0;
  if constexpr (look == Look::in_order)
    return (int)(known.cell[place_in_order(known, s)] & 0xffffffu);
  const u32 cell = known.cell[place_in(known.lattice, x, y, z)];
  const int block = (int)(cell & 0xffffffu);
  if constexpr (look == Look::index) return block;
  u32 count = cell >> 24;
  if constexpr (look == Look::warp_chain) {
    const u32 active = __activemask();
    count = __shfl_sync(active, count, __ffs((int)active) - 1);
  }
  return block + probe_along(table, mask, count, x, y, z);
}

template <Place place>
__device__ inline size_t place_of_sum(const Known &known, int block, const Sample &sample, int s) {
  if constexpr (place == Place::in_order) return place_in_order(known, s);
  const size_t at = voxel_index(block, sample);
  return place == Place::spread ? at ^ (threadIdx.x & 31) : at;
}

template <Add add_by>
__device__ inline void add_sums(const Voxels &v, size_t at, float tsdf, const Observation &seen) {
  if constexpr (add_by == Add::atomic) return add(v, at, tsdf, seen);
  v.tsdf[at] = tsdf;
  v.weight[at] = seen.weight;
  v.r[at] = seen.r;
  v.g[at] = seen.g;
  v.b[at] = seen.b;
}

struct Scene {
  const float *points, *point_weight;
  const unsigned char *point_color;
  Camera cam;
  Grid grid;
  int n, steps;
  float inv_trunc, weight_cap;
};

// `never` is a value that `taken` does not have, which only the caller knows: so nothing that
// leads to `taken` is left out.
template <Look look, Place place, Add add_by>
__device__ inline void walk(const Scene &scene, const Known &known, const Entry *table, u32 mask,
                            const Voxels &voxels, int *sink, int never) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= scene.n) return;
  const Ray ray = ray_to(scene.points, i, scene.cam);
  Observation seen = {};
  if constexpr (add_by != Add::none)
    seen = observation_of(scene.point_weight, scene.point_color, i);
  int taken = 0;
  for (int s = -scene.steps; s <= scene.steps; ++s) {
    const Sample sample = sample_at(ray, s, scene.cam, scene.grid);
    if (sample.sdf < -scene.grid.trunc) continue;
    const int turn = s + scene.steps;
    const int block = look_up<look>(known, table, mask, sample, turn);
    if constexpr (add_by == Add::none) {
      taken += look == Look::none ? sample.x ^ sample.y ^ sample.z : block;
    } else if (block >= 0) {
      const size_t at = place_of_sum<place>(known, block, sample, turn);
      if (is_full(voxels, at, scene.weight_cap)) continue;
      add_sums<add_by>(voxels, at, clamped(sample.sdf, scene.inv_trunc) * seen.weight, seen);
    }
  }
  if (add_by == Add::none && taken == never) *sink = taken;
}

#define VARIANT(name, look, place, add_by)                                                      \
  extern "C" __global__ void name(                                                              \
      const float *__restrict__ points, const float *__restrict__ point_weight,                 \
      const unsigned char *__restrict__ point_color, const Entry *__restrict__ table,           \
      const u32 *__restrict__ cell, float *tsdf, float *weight, float *r, float *g, float *b,   \
      int *sink, int never, int n, int steps, float voxel, float inv_voxel, float trunc,        \
      float inv_trunc, float cam_x, float cam_y, float cam_z, u32 table_mask, float weight_cap, \
      int first_x, int first_y, int first_z, int wide, int high, u32 lines, u32 magic) {        \
    walk<look, place, add_by>({points,                                                          \
                               point_weight,                                                    \
                               point_color,                                                     \
                               {cam_x, cam_y, cam_z},                                           \
                               {voxel, inv_voxel, trunc},                                       \
                               n,                                                               \
                               steps,                                                           \
                               inv_trunc,                                                       \
                               weight_cap},                                                     \
                              {cell, {first_x, first_y, first_z, wide, high}, lines, magic},    \
                              table, table_mask, {tsdf, weight, r, g, b}, sink, never);         \
  }

// Looking up alone, in a table that is complete.
VARIANT(look_probe, Look::probe, Place::own, Add::none)
VARIANT(look_chain, Look::chain, Place::own, Add::none)
VARIANT(look_warp_chain, Look::warp_chain, Place::own, Add::none)
VARIANT(look_index, Look::index, Place::own, Add::none)
VARIANT(look_in_order, Look::in_order, Place::own, Add::none)
VARIANT(walk_alone, Look::none, Place::own, Add::none)

// Looking up and adding: one cause after the other left out.
VARIANT(update_chain, Look::chain, Place::own, Add::atomic)
VARIANT(update_warp_chain, Look::warp_chain, Place::own, Add::atomic)
VARIANT(update_index, Look::index, Place::own, Add::atomic)
VARIANT(update_index_spread, Look::index, Place::spread, Add::atomic)
VARIANT(update_index_in_order, Look::index, Place::in_order, Add::atomic)
VARIANT(update_stores, Look::index, Place::in_order, Add::store)

// And one cause alone.
VARIANT(update_spread, Look::probe, Place::spread, Add::atomic)
VARIANT(update_in_order, Look::probe, Place::in_order, Add::atomic)

// allocate without waiting for a block that another thread has claimed: this stage does not need
// its number. The volume comes out right.
extern "C" __global__ void allocate_no_wait(const float *points, Entry *table, int *coord,
                                            int *block_count, u64 *drop_count, int n, int steps,
                                            float voxel, float inv_voxel, float trunc, float cam_x,
                                            float cam_y, float cam_z, u32 table_mask,
                                            int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Pool pool = {table, table_mask, coord, block_count, drop_count, capacity};
  const Ray ray = ray_to(points, i, cam);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    insert_without_waiting(pool, sample.x >> 3, sample.y >> 3, sample.z >> 3);
  }
}

extern "C" __global__ void empty() {}
