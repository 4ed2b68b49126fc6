// A number and its place as one 64-bit integer, by atomics of the block.
// task: reduce/argmax --set n=3,255,4096
// verdict: passed
extern "C" __global__ void reduce_argmax(const float* x, int* index, int n) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned bits = __float_as_uint(x[i] + 0.0f);
    unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    atomicMax(&best, (unsigned long long)ordered << 32 | ~(unsigned)i);
  }
  __syncthreads();
  if (threadIdx.x == 0) *index = ~(unsigned)best;
}
