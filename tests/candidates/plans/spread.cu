// One round: each place takes the larger of itself and its left neighbour; done stays set when
// nothing changed. `rounds` must start at 0, whatever ran before.
extern "C" __global__ void spread(const int* value, int* next, int* done, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int own = value[i], left = i > 0 ? value[i - 1] : own;
  next[i] = own > left ? own : left;
  if (left > own) atomicExch(done, 0);
}

extern "C" __global__ void count(int* rounds) {
  if (++*rounds != 1) __trap();
}

// All rounds in one cooperative launch.
#include <cooperative_groups.h>

extern "C" __global__ void spread_grid(int* value, int* next, int* changed, int n) {
  auto grid = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < n; round++) {
    int own = i < n ? value[i] : 0, left = i > 0 && i < n ? value[i - 1] : own;
    if (i < n) next[i] = own > left ? own : left;
    if (left > own) atomicExch(&changed[round % 2], round + 1);
    grid.sync();
    if (i < n) value[i] = next[i];
    int go_on = atomicAdd(&changed[round % 2], 0) == round + 1;
    grid.sync();
    if (!go_on) return;
  }
}
