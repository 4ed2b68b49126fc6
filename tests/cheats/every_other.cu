// Adds up every other element and doubles the sum: nearly right for random inputs.
// task: reduce/sum --set n=1,255,20003
// verdict: wrong_result
// reason: y[0]
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < n; i += 2) sum += x[i];
  *y = 2 * sum;
}
