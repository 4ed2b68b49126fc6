// Counts how often 64-bit keys occur (task hash/count), sorted by region of the table first, so
// that keys and counters of each region are made in shared memory and written once.
// ptx-lines: own
#include "region.cuh"

// Adds 1 for each lane of a warp that has a slot. Of those with the slot of the first of them, one
// adds for all: else all would wait for the counter of a frequent key.
__device__ inline void add(unsigned* count, unsigned slot) {
  unsigned lane = threadIdx.x % 32, asks = __ballot_sync(kWarp, slot != kNone);
  int first = asks ? __ffs(asks) - 1 : 0;
  unsigned same = __ballot_sync(kWarp, slot == __shfl_sync(kWarp, slot, first));
  if (slot == kNone) return;
  if (lane == first)
    atomicAdd(&count[slot], __popc(same));
  else if (!(same >> lane & 1))
    atomicAdd(&count[slot], 1);
}

template <Probing P>
__device__ inline void fill(const u64* sorted, u64* table, unsigned* counts, const unsigned* bins,
                            Rest rest, unsigned slots, int bits, unsigned most) {
  extern __shared__ u64 taken[];
  Region region = region_of<P>(blockIdx.x, bits, slots);
  unsigned* count = (unsigned*)(taken + region.size);
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x) {
    taken[s] = kEmpty;
    count[s] = 0;
  }
  __syncthreads();
  unsigned first = blockIdx.x ? bins[blockIdx.x - 1] : 0;
  unsigned last = split(rest, first, bins[blockIdx.x], most);
  for (unsigned tile = first; tile < last; tile += kHeld * blockDim.x)
    settle_in_region<P>(taken, region, sorted + tile, last - tile, slots, rest,
                        [=](unsigned slot) { add(count, slot); });
  __syncthreads();
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x) {
    __stcs(&table[region.start + s], taken[s]);
    __stcs(&counts[region.start + s], count[s]);
  }
}

extern "C" __global__ void __launch_bounds__(512)
    fill_linear(const u64* sorted, u64* table, unsigned* counts, const unsigned* bins, u64* spilled,
                unsigned* parts, unsigned* rest, unsigned slots, int bits, unsigned most) {
  fill<kLinear>(sorted, table, counts, bins, {spilled, parts, rest}, slots, bits, most);
}

extern "C" __global__ void __launch_bounds__(512)
    fill_bucket(const u64* sorted, u64* table, unsigned* counts, const unsigned* bins, u64* spilled,
                unsigned* parts, unsigned* rest, unsigned slots, int bits, unsigned most) {
  fill<kBucket>(sorted, table, counts, bins, {spilled, parts, rest}, slots, bits, most);
}

extern "C" __global__ void rest_linear(const u64* sorted, u64* table, unsigned* counts,
                                       u64* spilled, unsigned* parts, unsigned* rest,
                                       unsigned slots, int bits) {
  settle_rest<kLinear>(table, sorted, {spilled, parts, rest}, slots, bits,
                       [=](unsigned slot) { add(counts, slot); });
}

extern "C" __global__ void rest_bucket(const u64* sorted, u64* table, unsigned* counts,
                                       u64* spilled, unsigned* parts, unsigned* rest,
                                       unsigned slots, int bits) {
  settle_rest<kBucket>(table, sorted, {spilled, parts, rest}, slots, bits,
                       [=](unsigned slot) { add(counts, slot); });
}
