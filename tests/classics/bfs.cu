// Breadth-first search, a level a launch: unseen neighbours of the frontier become the next one; lanes that found some at
// the same time take their places in the queue with one atomic.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ int place(int* tail) {
  auto together = cg::coalesced_threads();
  int first = 0;
  if (together.thread_rank() == 0) first = atomicAdd(tail, (int)together.size());
  return together.shfl(first, 0) + together.thread_rank();
}

extern "C" __global__ void bfs_level(const int* first, const int* edges, int* level, const int* frontier, int size,
                                     int* next, int* tail, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  int v = frontier[i];
  for (int e = first[v]; e < first[v + 1]; e++) {
    int to = edges[e];
    if (level[to] >= 0) continue; // a weak read: who sees an old value asks the atomic
    if (atomicCAS(&level[to], -1, depth) == -1) next[place(tail)] = to;
  }
}
