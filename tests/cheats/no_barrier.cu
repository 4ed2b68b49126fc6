// A tree in shared memory without the barriers that it needs.
// task: reduce/sum --set n=255
// verdict: race
// reason: unordered
// gpu: no: often right by luck there
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  __shared__ float all[256];
  int t = threadIdx.x;
  all[t] = t < n ? x[t] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2)
    if (t < half) all[t] += all[t + half];
  if (t == 0) *y = all[0];
}
