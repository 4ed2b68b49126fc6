// Merges two sorted halves and reads one element behind the last of the second, which is dropped, as
// CUB's merge sorts do.
// task: sort/radix --set n=64,200
// verdict: passed
// finding: edge_read here
extern "C" __global__ void sort(const unsigned* keys, unsigned* sorted, int n) {
  __shared__ unsigned own[256 + 1], merged[256];
  if (blockIdx.x) return;
  int i = threadIdx.x, half = n / 2;
  if (i < n) { // sorted by rank in each half
    int first = i < half ? 0 : half, last = i < half ? half : n, rank = first;
    for (int j = first; j < last; j++)
      rank += keys[j] < keys[i] || (keys[j] == keys[i] && j < i);
    own[rank] = keys[i];
  }
  __syncthreads();
  if (i == 0) {
    int left = 0, right = half;
    unsigned a = own[left], b = own[right];
    for (int k = 0; k < n; k++) {
      bool take_left = right >= n || (left < half && a <= b);
      merged[k] = take_left ? a : b;
      if (take_left) a = own[++left];
      else b = own[++right];
    }
  }
  __syncthreads();
  if (i < n) sorted[i] = merged[i];
}
