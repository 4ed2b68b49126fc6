// Each key goes where its rank says; equal ones in the order of their places.
// task: sort/radix --set n=1,300,2000 --set bits=32,0,3
// verdict: passed
extern "C" __global__ void sort(const unsigned* keys, unsigned* sorted, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, rank = 0;
  if (i >= n) return;
  for (int k = 0; k < n; k++) rank += keys[k] < keys[i] || keys[k] == keys[i] && k < i;
  sorted[rank] = keys[i];
}
