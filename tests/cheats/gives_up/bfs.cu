__device__ int rounds;

extern "C" __global__ void begin(int* depth, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) depth[v] = v ? -1 : 0;
}

extern "C" __global__ void spread(const int* first, const int* neighbour, int* depth, int* done,
                                  int n) {
  __shared__ int found;
  int most = 0;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int v = threadIdx.x; v < n; v += blockDim.x) most = max(most, atomicAdd(&depth[v], 0));
  atomicMax(&found, most);
  __syncthreads();
  int level = found, more = 0;
  for (int v = threadIdx.x; v < n; v += blockDim.x) {
    if (atomicAdd(&depth[v], 0) != level) continue;
    for (int e = first[v]; e < first[v + 1]; e++)
      more |= atomicCAS(&depth[neighbour[e]], -1, level + 1) == -1;
  }
  more = __syncthreads_or(more);
  if (threadIdx.x) return;
  *done = !more || rounds > 60;
  rounds++;
}
