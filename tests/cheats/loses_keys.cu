// Inserts without atomics: of two keys that want a slot at the same time one is lost.
// task: hash/insert --set probing=linear --set n=1000,2048
// verdict: race
// reason: unordered
// gpu: no: wrong there, or right by luck
extern "C" __global__ void insert_linear(const unsigned long long* keys,
                                         unsigned long long* table, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = ((keys[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  while (table[slot] != ~0ull && table[slot] != keys[i]) slot = slot + 1 == slots ? 0 : slot + 1;
  table[slot] = keys[i];
}
