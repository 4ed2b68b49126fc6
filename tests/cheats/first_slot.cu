// Gives the first slot where a key may stand, without looking whether it is there.
// task: hash/find --set probing=linear --set n=1000,2048
// verdict: wrong_result
// reason: at
extern "C" __global__ void find_linear(const unsigned long long* table,
                                       const unsigned long long* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) at[i] = ((queries[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
}
