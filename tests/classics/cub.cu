// CUB's block and warp primitives, each algorithm: 128 threads, 512 elements. What is computed is simple; that sim:check
// finds nothing in them is the test.
// ptx-lines: own
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

enum { T = 128, ITEMS = 4 };

struct Max {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
struct Differ {
  __device__ bool operator()(int a, int b) const { return a != b; }
};
struct Minus {
  __device__ int operator()(int a, int b) const { return a - b; }
};

__device__ void take(int (&item)[ITEMS], const int* x) {
  for (int i = 0; i < ITEMS; i++) item[i] = x[threadIdx.x * ITEMS + i];
}
__device__ void give(int* y, const int (&item)[ITEMS]) {
  for (int i = 0; i < ITEMS; i++) y[threadIdx.x * ITEMS + i] = item[i];
}

#define KERNEL(NAME) extern "C" __global__ void NAME(const int* x, int* y)

// y[0]: the sum; y[1]: the maximum of the first element of 77 threads.
#define REDUCE(NAME, HOW)                                 \
  KERNEL(NAME) {                                          \
    using Reduce = cub::BlockReduce<int, T, HOW>;         \
    __shared__ typename Reduce::TempStorage temp;         \
    int item[ITEMS];                                      \
    take(item, x);                                        \
    int sum = Reduce(temp).Sum(item);                     \
    __syncthreads();                                      \
    int most = Reduce(temp).Reduce(item[0], Max(), 77);   \
    if (threadIdx.x == 0) y[0] = sum, y[1] = most;        \
  }
REDUCE(reduce_raking, cub::BLOCK_REDUCE_RAKING)
REDUCE(reduce_commutative, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
REDUCE(reduce_warps, cub::BLOCK_REDUCE_WARP_REDUCTIONS)

// y: sums up to each element.
#define SCAN(NAME, HOW)                           \
  KERNEL(NAME) {                                  \
    using Scan = cub::BlockScan<int, T, HOW>;     \
    __shared__ typename Scan::TempStorage temp;   \
    int item[ITEMS];                              \
    take(item, x);                                \
    Scan(temp).InclusiveSum(item, item);          \
    give(y, item);                                \
  }
SCAN(scan_raking, cub::BLOCK_SCAN_RAKING)
SCAN(scan_memoize, cub::BLOCK_SCAN_RAKING_MEMOIZE)
SCAN(scan_warps, cub::BLOCK_SCAN_WARP_SCANS)

// y[i] = x[i] + 1000 * the thread that held it.
#define MOVE(NAME, LOAD, STORE)                        \
  KERNEL(NAME) {                                       \
    using Load = cub::BlockLoad<int, T, ITEMS, LOAD>;  \
    using Store = cub::BlockStore<int, T, ITEMS, STORE>; \
    __shared__ union {                                 \
      typename Load::TempStorage load;                 \
      typename Store::TempStorage store;               \
    } temp;                                            \
    int item[ITEMS];                                   \
    Load(temp.load).Load(x, item);                     \
    for (int& i : item) i += 1000 * threadIdx.x;       \
    __syncthreads();                                   \
    Store(temp.store).Store(y, item);                  \
  }
MOVE(move_direct, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT)
MOVE(move_vectors, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE)
MOVE(move_transposed, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE)
MOVE(move_warps, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE)
MOVE(move_slices, cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED)
MOVE(move_striped, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED)

// There and back again, and then in reverse order.
KERNEL(exchange) {
  using Exchange = cub::BlockExchange<int, T, ITEMS>;
  __shared__ typename Exchange::TempStorage temp;
  int item[ITEMS], rank[ITEMS];
  take(item, x);
  Exchange(temp).BlockedToStriped(item, item);
  __syncthreads();
  Exchange(temp).StripedToBlocked(item, item);
  __syncthreads();
  Exchange(temp).BlockedToWarpStriped(item, item);
  __syncthreads();
  Exchange(temp).WarpStripedToBlocked(item, item);
  __syncthreads();
  for (int i = 0; i < ITEMS; i++) rank[i] = T * ITEMS - 1 - (threadIdx.x * ITEMS + i);
  Exchange(temp).ScatterToBlocked(item, item, rank);
  give(y, item);
}

// 1 where an element differs from the one before it.
KERNEL(heads) {
  using Discontinuity = cub::BlockDiscontinuity<int, T>;
  __shared__ typename Discontinuity::TempStorage temp;
  int item[ITEMS], flag[ITEMS];
  take(item, x);
  Discontinuity(temp).FlagHeads(flag, item, Differ());
  give(y, flag);
}

KERNEL(differences) {
  using Difference = cub::BlockAdjacentDifference<int, T>;
  __shared__ typename Difference::TempStorage temp;
  int item[ITEMS];
  take(item, x);
  Difference(temp).SubtractLeft(item, item, Minus());
  give(y, item);
}

#define SORT(NAME, HOW)                              \
  KERNEL(NAME) {                                     \
    using Sort = HOW;                                \
    __shared__ typename Sort::TempStorage temp;      \
    int item[ITEMS];                                 \
    take(item, x);                                   \
    SORT_BY(temp, item);                             \
    give(y, item);                                   \
  }
#define SORT_BY(TEMP, ITEM) Sort(TEMP).Sort(ITEM)
using Radix = cub::BlockRadixSort<int, T, ITEMS>;
using RadixMemoized = cub::BlockRadixSort<int, T, ITEMS, cub::NullType, 6, true, cub::BLOCK_SCAN_RAKING>;
SORT(sort_radix, Radix)
SORT(sort_radix_memoized, RadixMemoized)
#undef SORT_BY
#define SORT_BY(TEMP, ITEM) Sort(TEMP).Sort(ITEM, Less())
using Merge = cub::BlockMergeSort<int, T, ITEMS>;
SORT(sort_merge, Merge)

// Keys with the places they came from, descending.
extern "C" __global__ void sort_pairs(const int* x, int* y, int* from) {
  using Sort = cub::BlockRadixSort<int, T, ITEMS, int>;
  __shared__ typename Sort::TempStorage temp;
  int item[ITEMS], place[ITEMS];
  take(item, x);
  for (int i = 0; i < ITEMS; i++) place[i] = threadIdx.x * ITEMS + i;
  Sort(temp).SortDescending(item, place);
  give(y, item);
  give(from, place);
}

// The element of the next thread, and of the one five before; y has 2 * T elements.
KERNEL(shuffle) {
  using Shuffle = cub::BlockShuffle<int, T>;
  __shared__ typename Shuffle::TempStorage temp;
  int mine = x[threadIdx.x], other = -1;
  Shuffle(temp).Rotate(mine, other, 1);
  y[threadIdx.x] = other;
  __syncthreads();
  other = -1;
  Shuffle(temp).Offset(mine, other, -5);
  y[T + threadIdx.x] = other;
}

// Runs of x[t] % 4 + 1 times the number t; 512 at most.
extern "C" __global__ void decode(const int* x, int* y, int* count) {
  using Decode = cub::BlockRunLengthDecode<int, T, 1, ITEMS>;
  __shared__ typename Decode::TempStorage temp;
  int value[1] = {(int)threadIdx.x}, length[1] = {x[threadIdx.x] % 4 + 1}, total = 0, item[ITEMS];
  Decode runs(temp, value, length, total);
  runs.RunLengthDecode(item, 0);
  for (int i = 0; i < ITEMS; i++)
    if ((int)threadIdx.x * ITEMS + i < total) y[threadIdx.x * ITEMS + i] = item[i];
  if (threadIdx.x == 0) *count = total;
}

// Warps: y[w] the sum, y[4 + w] that of its first 20 lanes, y[8 + t] the sum before.
KERNEL(warp_sums) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Scan::TempStorage scan[4];
  int t = threadIdx.x, w = t / 32, mine = x[t], before;
  int sum = Reduce(reduce[w]).Sum(mine);
  __syncwarp();
  int part = Reduce(reduce[w]).Sum(mine, 20);
  Scan(scan[w]).ExclusiveSum(mine, before);
  if (t % 32 == 0) y[w] = sum, y[4 + w] = part;
  y[8 + t] = before;
}

// Each warp sorts its 128 elements.
KERNEL(warp_sort) {
  using Sort = cub::WarpMergeSort<int, ITEMS, 32>;
  __shared__ typename Sort::TempStorage temp[4];
  int item[ITEMS];
  take(item, x);
  Sort(temp[threadIdx.x / 32]).Sort(item, Less());
  give(y, item);
}

// Each half of a warp to stripes: y[64 h + 4 l + i] = x[64 h + 16 i + l].
KERNEL(warp_exchange) {
  using Exchange = cub::WarpExchange<int, ITEMS, 16>;
  __shared__ typename Exchange::TempStorage temp[T / 16];
  int item[ITEMS];
  take(item, x);
  Exchange(temp[threadIdx.x / 16]).BlockedToStriped(item, item);
  give(y, item);
}
