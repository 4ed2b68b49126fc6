// Says that no block is active.
// task: hash/tsdf_compact
// verdict: wrong_result
// reason: active_count
extern "C" __global__ void compact(const float* weight, const int* block_count, int* active,
                                   int* active_count, int capacity) {}
