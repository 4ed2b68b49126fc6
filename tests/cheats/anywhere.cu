// Puts key i into slot i, where no search would look for it.
// task: hash/insert --set probing=linear --set n=1000,2048
// verdict: wrong_result
// reason: where this key would not be found
extern "C" __global__ void insert_linear(const unsigned long long* keys,
                                         unsigned long long* table, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) table[i] = keys[i];
}
