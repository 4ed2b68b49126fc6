// A table in constant memory: coefficients, not answers.
// task: vector/softplus_f32
// verdict: passed
__constant__ float bound[] = {-20.0f, 20.0f};

extern "C" __global__ void softplus_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (x[i] > bound[1]) y[i] = x[i];
  else if (x[i] < bound[0]) y[i] = expf(x[i]);
  else y[i] = log1pf(expf(x[i]));
}
