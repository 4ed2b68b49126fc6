// Barriers in shared memory: cuda::barrier handed back and forth between warps, and asynchronous copies that
// arrive at one. For sm_80: sm_90 would copy by hardware that is not simulated.
#include <cooperative_groups.h>

#include <cuda/barrier>

namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// Warp 0 fills a slot while warp 1 adds up the other.
extern "C" __global__ void hand_over(const int *in, int *out, int rounds) {
  __shared__ int slot[2][32];
  __shared__ barrier full[2], empty[2];
  if (threadIdx.x < 2) {
    init(&full[threadIdx.x], 64);
    init(&empty[threadIdx.x], 64);
  }
  __syncthreads();
  int lane = threadIdx.x % 32, sum = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < rounds; i++) {
      if (i >= 2) empty[i & 1].arrive_and_wait();
      slot[i & 1][lane] = in[i * 32 + lane];
      (void)full[i & 1].arrive();
    }
  } else {
    for (int i = 0; i < rounds; i++) {
      full[i & 1].arrive_and_wait();
      sum += slot[i & 1][31 - lane] * (i + 1);
      if (i + 2 < rounds) (void)empty[i & 1].arrive();
    }
    out[lane] = sum;
  }
}

extern "C" __global__ void copies(const int *in, int *out) {
  __shared__ barrier ready;
  __shared__ int slot[128];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  block.sync();
  cuda::memcpy_async(&slot[threadIdx.x], in + threadIdx.x, cuda::aligned_size_t<4>(4), ready);
  ready.arrive_and_wait();
  out[threadIdx.x] = slot[127 - threadIdx.x];
}
