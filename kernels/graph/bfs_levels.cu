// Breadth-first search (task graph/bfs), one launch a level: every vertex of the level looks at its
// neighbours. Several threads may give a vertex the same depth at once, hence the volatile
// accesses.

extern "C" __global__ void bfs_begin(int* depth, int* control, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) depth[v] = v == 0 ? 0 : -1;
  if (v == 0) control[0] = control[1] = 0;
}

// control: the level, and whether it gave any vertex a depth.
extern "C" __global__ void bfs_level(const int* first, const int* neighbour, volatile int* depth,
                                     volatile int* control, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x, level = control[0];
  if (v >= n || depth[v] != level) return;
  for (int e = first[v]; e < first[v + 1]; e++) {
    int w = neighbour[e];
    if (depth[w] >= 0) continue;
    depth[w] = level + 1;
    control[1] = 1;
  }
}

extern "C" __global__ void bfs_next(int* control, int* done) {
  *done = !control[1];
  control[0]++;
  control[1] = 0;
}
