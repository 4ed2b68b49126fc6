// Cooperative groups and the synchronisation library (barriers, pipelines, semaphores, latches, atomics): 128 threads a block.
// What is computed is simple; that sim:check finds nothing in them is the test.
// ptx-lines: own
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>

namespace cg = cooperative_groups;
enum { T = 128 };

#define KERNEL(NAME) extern "C" __global__ void NAME(const int* x, int* y)

// Sums of tiles of 4, of 64 across warps, and of the lanes with the same x % 3; their scans.
KERNEL(tiles) {
  __shared__ cg::block_tile_memory<T> memory;
  auto block = cg::this_thread_block(memory);
  auto four = cg::tiled_partition<4>(block);
  auto many = cg::tiled_partition<64>(block);
  auto warp = cg::tiled_partition<32>(block);
  int t = block.thread_rank(), mine = x[t];
  y[t] = cg::reduce(four, mine, cg::plus<int>());
  y[T + t] = cg::reduce(many, mine, cg::plus<int>());
  auto same = cg::labeled_partition(warp, mine % 3);
  y[2 * T + t] = cg::reduce(same, mine, cg::plus<int>());
  auto half = cg::binary_partition(warp, mine % 2 == 0);
  y[3 * T + t] = half.size();
  y[4 * T + t] = cg::inclusive_scan(warp, mine, cg::plus<int>());
  y[5 * T + t] = cg::exclusive_scan(warp, mine, cg::plus<int>());
  many.sync();
  y[6 * T + t] = many.shfl(mine, 63);
}

// One thread of a tile computes for all of it.
KERNEL(one_for_all) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int* first = x + blockIdx.x * T + tile.meta_group_rank() * 8;
  y[blockIdx.x * T + threadIdx.x] = cg::invoke_one_broadcast(tile, [&] {
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += first[i];
    return sum;
  });
}

// y[t] = the element of the opposite thread, by arrival and wait.
KERNEL(split_barrier) {
  __shared__ int copy[T];
  auto block = cg::this_thread_block();
  copy[threadIdx.x] = x[threadIdx.x];
  auto token = block.barrier_arrive();
  int mine = x[threadIdx.x];
  block.barrier_wait(std::move(token));
  y[threadIdx.x] = copy[T - 1 - threadIdx.x] - mine;
}

// Each round adds what the block to the right had, by the grid's barrier in one and in two steps.
extern "C" __global__ void ring(int* x, int* y, int rounds) {
  auto grid = cg::this_grid();
  int n = grid.size(), i = grid.thread_rank();
  for (int r = 0; r < rounds; r++) {
    y[i] = x[i] + x[(i + T) % n];
    if (r % 2) {
      auto token = grid.barrier_arrive();
      grid.barrier_wait(std::move(token));
    } else {
      grid.sync();
    }
    x[i] = y[i];
    grid.sync();
  }
}

// Two stages of asynchronous copies: while one is summed the next is on its way. x has 4 * T elements.
KERNEL(staged) {
  __shared__ int stage[2][T];
  auto block = cg::this_thread_block();
  int sum = 0;
  cg::memcpy_async(block, stage[0], x, sizeof stage[0]);
  for (int s = 0; s < 4; s++) {
    if (s < 3) cg::memcpy_async(block, stage[(s + 1) % 2], x + (s + 1) * T, sizeof stage[0]);
    if (s < 3)
      cg::wait_prior<1>(block);
    else
      cg::wait(block);
    sum += stage[s % 2][T - 1 - threadIdx.x];
    block.sync();
  }
  y[threadIdx.x] = sum;
}

// The same by a pipeline of the block.
KERNEL(piped) {
  __shared__ int stage[2][T];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0, ahead = 0;
  for (int s = 0; s < 4; s++) {
    for (; ahead < 4 && ahead < s + 2; ahead++) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, stage[ahead % 2], x + ahead * T, sizeof stage[0], pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += stage[s % 2][T - 1 - threadIdx.x];
    pipe.consumer_release();
  }
  y[threadIdx.x] = sum;
}

// Warps 0 and 1 hand rounds of data to warps 2 and 3 through two barriers.
KERNEL(hand_over) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier full, empty;
  __shared__ int data[64];
  if (threadIdx.x == 0) {
    init(&full, T);
    init(&empty, T);
  }
  __syncthreads();
  int t = threadIdx.x, sum = 0;
  for (int r = 0; r < 4; r++) {
    if (t < 64) {
      if (r) empty.arrive_and_wait();
      data[t] = x[r * 64 + t];
      (void)full.arrive();
    } else {
      full.arrive_and_wait();
      sum += data[127 - t] * (r + 1);
      if (r < 3) (void)empty.arrive();
    }
  }
  if (t >= 64) y[t - 64] = sum;
}

// A latch counts the writers down.
KERNEL(counted_down) {
  using latch = cuda::latch<cuda::thread_scope_block>;
  __shared__ alignas(latch) char memory[sizeof(latch)];
  __shared__ int data[T];
  auto& written = *reinterpret_cast<latch*>(memory);
  if (threadIdx.x == 0) new (memory) latch(T);
  __syncthreads();
  data[threadIdx.x] = x[threadIdx.x];
  written.arrive_and_wait();
  y[threadIdx.x] = data[threadIdx.x ^ 37];
}

// Blocks take turns at a plain sum: a semaphore in global memory, zeroed.
extern "C" __global__ void turns(const int* x, int* sum, int* lock) {
  auto& semaphore = *reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_device>*>(lock);
  if (threadIdx.x == 0) {
    semaphore.acquire();
    *sum += x[blockIdx.x];
    semaphore.release();
  }
}

extern "C" __global__ void turns_init(int* lock) {
  new (lock) cuda::counting_semaphore<cuda::thread_scope_device>(1);
}

// A chain of blocks: each waits for the flag of the one before it, adds, and releases the next.
extern "C" __global__ void chain(const int* x, int* sum, int* flag) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ref(*flag);
  if (threadIdx.x > 0) return;
  int turn = gridDim.x - 1 - blockIdx.x; // the last block comes first
  for (int now; (now = ref.load(cuda::memory_order_acquire)) != turn;) ref.wait(now, cuda::memory_order_relaxed);
  *sum = *sum * 3 % 1000003 + x[blockIdx.x];
  ref.store(turn + 1, cuda::memory_order_release);
  ref.notify_all();
}

// A lock of exchanges, taken by every thread, of one warp too.
extern "C" __global__ void locked(const int* x, int* sum, int* lock) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ref(*lock);
  while (ref.exchange(1, cuda::memory_order_acquire)) {}
  *sum += x[blockIdx.x * blockDim.x + threadIdx.x];
  ref.store(0, cuda::memory_order_release);
}
