// A long sum from the first element to the last by one thread: the order with the largest error.
// task: museum/long_sum --set n=1,1000,20011
// verdict: passed
extern "C" __global__ void long_sum(const float* x, float* y, int n) {
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x[i];
  *y = sum;
}
