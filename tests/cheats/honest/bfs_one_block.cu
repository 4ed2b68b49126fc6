// All levels in one block, by atomics.
// task: graph/bfs --set graph=rmat,grid --set scale=6,9
// verdict: passed
extern "C" __global__ void bfs(const int* first, const int* neighbour, int* depth, int n) {
  if (blockIdx.x) return;
  for (int v = threadIdx.x; v < n; v += blockDim.x) depth[v] = v ? -1 : 0;
  for (int level = 0;; level++) {
    int found = 0;
    __syncthreads();
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
      if (atomicAdd(&depth[v], 0) != level) continue;
      for (int e = first[v]; e < first[v + 1]; e++)
        found |= atomicCAS(&depth[neighbour[e]], -1, level + 1) == -1;
    }
    if (!__syncthreads_or(found)) return;
  }
}
