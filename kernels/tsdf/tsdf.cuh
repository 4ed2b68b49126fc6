// What the TSDF kernels share: the walk along a ray, and the table of blocks with find and insert.
// Plain CUDA C++ for NVRTC, without headers. README.md in this folder explains the data structure.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;

// A table entry. An empty one has all bits set: key -1, block -1.
struct __align__(16) Entry {
  long long key;
  int block;
  int pad;
};

constexpr long long kEmpty = -1;
constexpr int kPending = -1; // claimed, its block not yet published
constexpr int kDropped = -2; // the pool was full
constexpr u32 kFullWarp = 0xffffffffu;

// ---- the walk ----

struct Ray {
  float x, y, z;    // the point
  float ux, uy, uz; // unit direction from the camera to it
  float length;     // its distance from the camera
};

struct Camera {
  float x, y, z;
};

struct Grid {
  float voxel, inv_voxel; // metres, and 1 / metres
  float trunc;            // metres
};

// A sample's voxel and the signed distance of that voxel's centre along the ray, in metres.
struct Sample {
  int x, y, z;
  float sdf;
};

__device__ inline Ray ray_to(const float *points, int i, Camera cam) {
  Ray ray;
  ray.x = points[3 * i];
  ray.y = points[3 * i + 1];
  ray.z = points[3 * i + 2];
  const float dx = ray.x - cam.x, dy = ray.y - cam.y, dz = ray.z - cam.z;
  ray.length = sqrtf(dx * dx + dy * dy + dz * dz);
  const float scale = 1.0f / ray.length;
  ray.ux = dx * scale;
  ray.uy = dy * scale;
  ray.uz = dz * scale;
  return ray;
}

__device__ inline Sample sample_at(const Ray &ray, int s, Camera cam, Grid grid) {
  const float t = (float)s * grid.voxel;
  Sample sample;
  sample.x = __float2int_rd((ray.x + ray.ux * t) * grid.inv_voxel);
  sample.y = __float2int_rd((ray.y + ray.uy * t) * grid.inv_voxel);
  sample.z = __float2int_rd((ray.z + ray.uz * t) * grid.inv_voxel);
  const float dx = ((float)sample.x + 0.5f) * grid.voxel - cam.x;
  const float dy = ((float)sample.y + 0.5f) * grid.voxel - cam.y;
  const float dz = ((float)sample.z + 0.5f) * grid.voxel - cam.z;
  sample.sdf = ray.length - sqrtf(dx * dx + dy * dy + dz * dz);
  return sample;
}

// The samples that one thread takes: all 2 * steps + 1 of its ray, or a part of them when the grid
// has several rows (gridDim.y threads share a ray, which shortens the chain of dependent look-ups).
struct Span {
  int first, last;
};

__device__ inline Span span_of(int steps) {
  const int samples = 2 * steps + 1, rows = (int)gridDim.y;
  const int each = (samples + rows - 1) / rows, first = -steps + (int)blockIdx.y * each;
  return {first, min(steps, first + each - 1)};
}

// Index of a voxel within its block: x runs fastest.
__device__ inline int voxel_in_block(const Sample &s) {
  return (s.x & 7) | (s.y & 7) << 3 | (s.z & 7) << 6;
}

// ---- the table ----

__device__ inline long long block_key(int x, int y, int z) {
  const long long bias = 1 << 20;
  return (x + bias) << 42 | (y + bias) << 21 | (z + bias);
}

__device__ inline u32 block_hash(int x, int y, int z) {
  return (u32)x * 73856093u ^ (u32)y * 19349663u ^ (u32)z * 83492791u;
}

__device__ inline u32 next_slot(u32 slot, u32 mask) {
  return (slot + 1) & mask; // linear probing
}

// A load that others' stores may race with: never from a stale L1 line.
__device__ inline int load_relaxed(const int *at) {
  int value;
  asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_global(at))
               : "memory");
  return value;
}

__device__ inline void store_relaxed(int *at, int value) {
  asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "r"(value)
               : "memory");
}

// A fence and the store in one: whoever acquires the value sees what was written before. Cheaper
// than __threadfence, which is sequentially consistent and empties the L1 cache.
__device__ inline void store_release(int *at, int value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(at)), "r"(value)
               : "memory");
}

// The volume's bookkeeping, as an insert needs it.
struct Pool {
  Entry *table;
  u32 mask; // table size - 1
  int *coord, *block_count;
  u64 *drop_count;
  int capacity;
};

// When the winner of an entry tells the others its block: after coord, as the published algorithm
// has it, or before. Only later kernels read coord, and their launch orders that anyway.
enum class Publish { after_coord, before_coord };

// The winner of an empty entry gives it a block. A claim is never undone: that would break the
// probe chains that run over it and leave waiters spinning. So a full pool publishes kDropped.
template <Publish order>
__device__ inline int publish(const Pool &pool, Entry *entry, int x, int y, int z) {
  const int place = atomicAdd(pool.block_count, 1);
  const int block = place < pool.capacity ? place : kDropped;
  if (order == Publish::before_coord) store_relaxed(&entry->block, block);
  if (block != kDropped) {
    pool.coord[3 * block] = x;
    pool.coord[3 * block + 1] = y;
    pool.coord[3 * block + 2] = z;
  } else {
    atomicAdd(pool.drop_count, 1ull);
  }
  if (order == Publish::after_coord) store_release(&entry->block, block);
  return block;
}

__device__ inline int wait_for_block(const Entry *entry) {
  int block = kPending;
  while (block == kPending) block = load_relaxed(&entry->block);
  return block;
}

// A whole entry in one 16-byte load, possibly from a stale L1 line. Key and block never change once
// they are set, so what it shows of them is final; what it shows as missing is not.
__device__ inline Entry load_entry(const Entry *at) {
  const longlong2 bits = *reinterpret_cast<const longlong2 *>(at);
  return {bits.x, (int)bits.y, 0};
}

// The block of (x, y, z), inserted when it is new; kDropped when it got none. Looks from `slot` on.
// The walk along the probe chain is a loop of its own, so that lanes whose walks differ in length
// meet after it and insert, or wait, together.
template <Publish order>
__device__ inline int insert_from(const Pool &pool, u32 slot, int x, int y, int z) {
  const long long key = block_key(x, y, z);
  for (u32 left = pool.mask + 1; left > 0;) { // entries not yet looked at
    Entry seen = load_entry(&pool.table[slot]);
    for (--left; seen.key != key && seen.key != kEmpty && left > 0; --left) {
      slot = next_slot(slot, pool.mask);
      seen = load_entry(&pool.table[slot]);
    }
    Entry *entry = &pool.table[slot];
    if (seen.key == key) return seen.block != kPending ? seen.block : wait_for_block(entry);
    if (seen.key != kEmpty) break;
    const long long other = (long long)atomicCAS((u64 *)&entry->key, (u64)kEmpty, (u64)key);
    if (other == kEmpty) return publish<order>(pool, entry, x, y, z);
    if (other == key) return wait_for_block(entry);
    slot = next_slot(slot, pool.mask);
  }
  return kDropped;
}

template <Publish order = Publish::after_coord>
__device__ inline int find_or_insert(const Pool &pool, int x, int y, int z) {
  return insert_from<order>(pool, block_hash(x, y, z) & pool.mask, x, y, z);
}

// Walks along a probe chain to a key or to an entry that looks empty: whether it is the key. It may
// look empty for a stale L1 line, so only that the key is there is certain.
__device__ inline bool walk_to(const Pool &pool, long long key, u32 &slot) {
  long long seen = pool.table[slot].key;
  for (u32 left = pool.mask; seen != key && seen != kEmpty && left > 0; --left) {
    slot = next_slot(slot, pool.mask);
    seen = pool.table[slot].key;
  }
  return seen == key;
}

// The block in a table that nobody writes.
__device__ inline int find(const Entry *__restrict__ table, u32 mask, int x, int y, int z) {
  const long long key = block_key(x, y, z);
  u32 slot = block_hash(x, y, z) & mask;
  Entry seen = load_entry(&table[slot]);
  for (u32 left = mask; seen.key != key && seen.key != kEmpty && left > 0; --left) {
    slot = next_slot(slot, mask);
    seen = load_entry(&table[slot]);
  }
  return seen.key == key ? seen.block : kDropped;
}

// ---- the voxels ----

struct Voxels {
  float *tsdf, *weight, *r, *g, *b;
};

// What a point adds to each voxel that its ray meets.
struct Observation {
  float weight, r, g, b;
};

__device__ inline Observation observation_of(const float *point_weight,
                                             const unsigned char *point_color, int i) {
  const float w = point_weight[i];
  return {w, (float)point_color[3 * i] * w, (float)point_color[3 * i + 1] * w,
          (float)point_color[3 * i + 2] * w};
}

// weight_cap > 0: a voxel whose weight is seen at the cap or above takes no more.
__device__ inline bool is_full(const Voxels &v, size_t at, float weight_cap) {
  return weight_cap > 0.0f && v.weight[at] >= weight_cap;
}

__device__ inline size_t voxel_index(int block, const Sample &sample) {
  return (size_t)block * 512 + voxel_in_block(sample);
}

__device__ inline float clamped(float sdf, float inv_trunc) {
  return fminf(fmaxf(sdf * inv_trunc, -1.0f), 1.0f);
}

__device__ inline void add(const Voxels &v, size_t at, float tsdf, const Observation &seen) {
  atomicAdd(&v.tsdf[at], tsdf);
  atomicAdd(&v.weight[at], seen.weight);
  atomicAdd(&v.r[at], seen.r);
  atomicAdd(&v.g[at], seen.g);
  atomicAdd(&v.b[at], seen.b);
}

__device__ inline void add_sample(const Voxels &v, int block, const Sample &sample,
                                  const Observation &seen, float inv_trunc, float weight_cap) {
  const size_t at = voxel_index(block, sample);
  if (is_full(v, at, weight_cap)) return;
  add(v, at, clamped(sample.sdf, inv_trunc) * seen.weight, seen);
}
