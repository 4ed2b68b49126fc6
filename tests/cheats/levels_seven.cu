// Stops after seven levels, as graphs of the timed kind have no more.
// task: graph/bfs --set graph=grid --set scale=7
// verdict: wrong_result
// reason: depth
extern "C" __global__ void bfs(const int* first, const int* neighbour, int* depth, int n) {
  if (blockIdx.x) return;
  for (int v = threadIdx.x; v < n; v += blockDim.x) depth[v] = v ? -1 : 0;
  __syncthreads();
  for (int level = 0; level < 7; level++) {
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
      if (atomicAdd(&depth[v], 0) != level) continue;
      for (int e = first[v]; e < first[v + 1]; e++)
        atomicCAS(&depth[neighbour[e]], -1, level + 1);
    }
    __syncthreads();
  }
}
