// Inclusive sum in one pass by decoupled look-back: a tile adds the sums that the tiles before it have published so far,
// until it meets one that knows its whole prefix. Once from scratch, once with the parts of CUB.
#include <cub/agent/single_pass_scan_operators.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

enum { THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS };
enum { NOTHING, AGGREGATE, PREFIX }; // what is published of a tile

__device__ void publish(int* value, int* flag, int sum, int what) {
  *value = sum;
  __threadfence();
  *(volatile int*)flag = what;
}

// By one warp: the sum of all tiles before `tile`, 32 of them at a time.
__device__ int look_back(int tile, volatile int* flag, const int* aggregate, const int* prefix) {
  int lane = threadIdx.x, sum = 0;
  for (int first = tile - 1;; first -= 32) {
    int at = first - lane, state = PREFIX, value = 0;
    if (at >= 0) {
      while ((state = flag[at]) == NOTHING) {}
      __threadfence();
      value = state == PREFIX ? prefix[at] : aggregate[at];
    }
    unsigned whole = __ballot_sync(~0u, state == PREFIX);
    int nearest = whole ? __ffs(whole) - 1 : 31;
    sum += __reduce_add_sync(~0u, lane <= nearest ? value : 0);
    if (whole) return sum;
  }
}

extern "C" __global__ void scan_lookback(const int* x, int* y, int n, int* next, int* flag, int* aggregate,
                                         int* prefix) {
  __shared__ int tile, before, of_warp[THREADS / 32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0) tile = atomicAdd(next, 1); // in the order in which blocks start: none waits for one that has not
  __syncthreads();
  int first = tile * TILE + t * ITEMS, item[ITEMS], sum = 0;
  for (int i = 0; i < ITEMS; i++) item[i] = sum += first + i < n ? x[first + i] : 0;
  int upto = sum;
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(~0u, upto, step);
    if (lane >= step) upto += other;
  }
  if (lane == 31) of_warp[t / 32] = upto;
  __syncthreads();
  int total = 0, here = upto - sum;
  for (int w = 0; w < THREADS / 32; w++) {
    if (w < t / 32) here += of_warp[w];
    total += of_warp[w];
  }
  if (t < 32) {
    if (t == 0 && tile > 0) publish(&aggregate[tile], &flag[tile], total, AGGREGATE);
    int all = look_back(tile, flag, aggregate, prefix);
    if (t == 0) {
      publish(&prefix[tile], &flag[tile], all + total, PREFIX);
      before = all;
    }
  }
  __syncthreads();
  for (int i = 0; i < ITEMS; i++)
    if (first + i < n) y[first + i] = before + here + item[i];
}

using State = cub::ScanTileState<int>;

static __device__ State state_of(void* memory, int tiles) {
  State state;
  state.Init(tiles, memory, (tiles + 32) * 8);
  return state;
}

extern "C" __global__ void scan_cub_init(void* memory, int tiles) {
  state_of(memory, tiles).InitializeStatus(tiles);
}

extern "C" __global__ void scan_cub(const int* x, int* y, int n, void* memory) {
  using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, THREADS>;
  using Before = cub::TilePrefixCallbackOp<int, cuda::std::plus<>, State>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    struct {
      typename Scan::TempStorage scan;
      typename Before::TempStorage before;
    };
  } temp;
  State state = state_of(memory, gridDim.x);
  int tile = blockIdx.x, rest = n - tile * TILE, item[ITEMS], total;
  Load(temp.load).Load(x + tile * TILE, item, rest < TILE ? rest : TILE, 0);
  __syncthreads();
  if (tile == 0) {
    Scan(temp.scan).InclusiveSum(item, item, total);
    if (threadIdx.x == 0) state.SetInclusive(0, total);
  } else {
    Before before(state, temp.before, cuda::std::plus<>(), tile);
    Scan(temp.scan).InclusiveScan(item, item, cuda::std::plus<>(), before);
  }
  __syncthreads();
  Store(temp.store).Store(y + tile * TILE, item, rest < TILE ? rest : TILE);
}
