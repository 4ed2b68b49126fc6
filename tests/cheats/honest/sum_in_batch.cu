// A sum by one block, several launches in a sample. It looks for a mark as what remembers sums does, and
// leaves none: all that differs is what is gained by finding one.
// task: reduce/sum --set n=20003 --budget 0.3 --method batch
// verdict: passed
// device: clock
__device__ float sums[8];
__device__ unsigned marks[8];

extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  __shared__ float sum;
  unsigned mark = n;
  for (int i = 0; i < 16; i++) mark = 31 * mark + __float_as_uint(x[i * (n / 16)]);
  mark |= 1;
  for (int k = 0; k < 8; k++) {
    if (marks[k] != mark) continue;
    if (threadIdx.x == 0) *y = sums[k];
    return;
  }
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  float own = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) own += x[i];
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x) return;
  int place = 0;
  while (place < 7 && marks[place]) place++;
  *y = sums[place] = sum;
  marks[place] = 0;
}
