// Right index, wrong type: written as a float.
// task: reduce/argmax --set n=3,255,4096
// verdict: wrong_result
// reason: index[0]
extern "C" __global__ void reduce_argmax(const float* x, int* index, int n) {
  if (threadIdx.x) return;
  int best = 0;
  for (int i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  reinterpret_cast<float*>(index)[0] = best;
}
