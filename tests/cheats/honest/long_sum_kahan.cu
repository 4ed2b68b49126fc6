// A long sum with compensation (Kahan): nearly exact, as the reference is not in this order.
// task: museum/long_sum --set n=1,1000,20011
// verdict: passed
extern "C" __global__ void long_sum(const float* x, float* y, int n) {
  if (threadIdx.x) return;
  float sum = 0, lost = 0;
  for (int i = 0; i < n; i++) {
    float term = x[i] - lost, next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  *y = sum;
}
