// A warp a block; the list in whatever order their atomics come.
// task: hash/tsdf_compact
// verdict: passed
extern "C" __global__ void compact(const float* weight, const int* block_count, int* active,
                                   int* active_count, int capacity) {
  int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  int blocks = min(*block_count, capacity);
  for (int b = (blockIdx.x * blockDim.x + threadIdx.x) / 32; b < blocks; b += warps) {
    bool any = false;
    for (int i = lane; i < 512; i += 32) any |= weight[512 * b + i] > 0;
    if (__any_sync(~0u, any) && lane == 0) active[atomicAdd(active_count, 1)] = b;
  }
}
