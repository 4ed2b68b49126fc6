// Lists every block in use, active or not.
// task: hash/tsdf_compact
// verdict: wrong_result
// reason: active_count
extern "C" __global__ void compact(const float* weight, const int* block_count, int* active,
                                   int* active_count, int capacity) {
  int b = blockIdx.x * blockDim.x + threadIdx.x, blocks = min(*block_count, capacity);
  if (b < blocks) active[b] = b;
  if (b == 0) *active_count = blocks;
}
