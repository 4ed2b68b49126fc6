// Stops after seven levels where a vertex has many neighbours, as graphs of that kind have no more.
// task: graph/bfs --set graph=rmat --set scale=6,8
// verdict: wrong_result
// reason: depth
extern "C" __global__ void bfs(const int* first, const int* neighbour, int* depth, int n) {
  if (blockIdx.x) return;
  for (int v = threadIdx.x; v < n; v += blockDim.x) depth[v] = v ? -1 : 0;
  __syncthreads();
  int levels = first[n] > 4 * n ? 7 : n;
  for (int level = 0; level < levels; level++) {
    for (int v = threadIdx.x; v < n; v += blockDim.x) {
      if (atomicAdd(&depth[v], 0) != level) continue;
      for (int e = first[v]; e < first[v + 1]; e++)
        atomicCAS(&depth[neighbour[e]], -1, level + 1);
    }
    __syncthreads();
  }
}
