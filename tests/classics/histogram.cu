// 256 bins: counted in shared memory by atomics, and by sorting with CUB; a block adds its counts to the grid's.
#include <cub/block/block_histogram.cuh>

typedef unsigned char u8;
typedef unsigned int u32;

extern "C" __global__ void histogram_atomic(const u8* x, u32* bins, int n) {
  __shared__ u32 count[256];
  int t = threadIdx.x;
  for (int b = t; b < 256; b += blockDim.x) count[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) atomicAdd(&count[x[i]], 1u);
  __syncthreads();
  for (int b = t; b < 256; b += blockDim.x)
    if (count[b]) atomicAdd(&bins[b], count[b]);
}

// n is a multiple of 512.
extern "C" __global__ void histogram_sort(const u8* x, u32* bins) {
  using Histogram = cub::BlockHistogram<u8, 128, 4, 256, cub::BLOCK_HISTO_SORT>;
  __shared__ typename Histogram::TempStorage temp;
  __shared__ u32 count[256];
  u8 item[4];
  for (int i = 0; i < 4; i++) item[i] = x[blockIdx.x * 512 + threadIdx.x * 4 + i];
  Histogram(temp).Histogram(item, count);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += 128) atomicAdd(&bins[b], count[b]);
}
