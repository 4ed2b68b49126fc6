// Keys from the last to the first: another table, as right as any.
// task: hash/insert --set probing=linear --set n=17,1000,4099 --set keys=zipf
// verdict: passed
extern "C" __global__ void insert_linear(const unsigned long long* keys,
                                         unsigned long long* table, int n, unsigned slots) {
  int i = n - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < 0) return;
  unsigned slot = ((keys[i] * 0x9e3779b97f4a7c15u) >> 32) * slots >> 32;
  while (true) {
    unsigned long long old = atomicCAS(&table[slot], ~0ull, keys[i]);
    if (old == ~0ull || old == keys[i]) return;
    slot = slot + 1 == slots ? 0 : slot + 1;
  }
}
