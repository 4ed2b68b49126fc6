// Inserts 64-bit keys into an empty hash table (task hash/insert), sorted by region of the table
// first, so that each region is filled in shared memory and written once.
// ptx-lines: own
#include "region.cuh"

template <Probing P>
__device__ inline void fill(const u64* sorted, u64* table, const unsigned* bins, Rest rest,
                            unsigned slots, int bits, unsigned most) {
  extern __shared__ u64 taken[];
  Region region = region_of<P>(blockIdx.x, bits, slots);
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x) taken[s] = kEmpty;
  __syncthreads();
  unsigned first = blockIdx.x ? bins[blockIdx.x - 1] : 0;
  unsigned last = split(rest, first, bins[blockIdx.x], most);
  for (unsigned tile = first; tile < last; tile += kHeld * blockDim.x)
    settle_in_region<P>(taken, region, sorted + tile, last - tile, slots, rest, [](unsigned) {});
  __syncthreads();
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x)
    __stcs(&table[region.start + s], taken[s]);
}

extern "C" __global__ void __launch_bounds__(512)
    fill_linear(const u64* sorted, u64* table, const unsigned* bins, u64* spilled,
                unsigned* parts, unsigned* rest, unsigned slots, int bits, unsigned most) {
  fill<kLinear>(sorted, table, bins, {spilled, parts, rest}, slots, bits, most);
}

extern "C" __global__ void __launch_bounds__(512)
    fill_bucket(const u64* sorted, u64* table, const unsigned* bins, u64* spilled,
                unsigned* parts, unsigned* rest, unsigned slots, int bits, unsigned most) {
  fill<kBucket>(sorted, table, bins, {spilled, parts, rest}, slots, bits, most);
}

extern "C" __global__ void rest_linear(const u64* sorted, u64* table, u64* spilled,
                                       unsigned* parts, unsigned* rest, unsigned slots, int bits) {
  settle_rest<kLinear>(table, sorted, {spilled, parts, rest}, slots, bits,
                       [](unsigned) {});
}

extern "C" __global__ void rest_bucket(const u64* sorted, u64* table, u64* spilled,
                                       unsigned* parts, unsigned* rest, unsigned slots, int bits) {
  settle_rest<kBucket>(table, sorted, {spilled, parts, rest}, slots, bits,
                       [](unsigned) {});
}
