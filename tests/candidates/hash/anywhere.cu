// Wrong: every key is in the table once, but where no search would find it.
typedef unsigned long long u64;

extern "C" __global__ void insert_linear(const u64* keys, u64* table, int n, unsigned slots) {
  if (blockIdx.x || threadIdx.x) return;
  unsigned used = 0;
  for (int i = 0; i < n; ++i) {
    unsigned slot = 0;
    while (slot < used && table[slot] != keys[i]) ++slot;
    if (slot == used) table[used++] = keys[i];
  }
}
