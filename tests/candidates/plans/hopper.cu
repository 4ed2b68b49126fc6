// A tile through one tensor copy, and what a block knows of its cluster.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

extern "C" __global__ void twice(const float* x, float* y, int rows, int columns) {
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row < rows && column < columns) y[row * columns + column] = 2 * x[row * columns + column];
}

extern "C" __global__ void twice_tensor(const __grid_constant__ TensorMap map, float* y, int rows,
                                        int columns) {
  __shared__ alignas(128) float tile[16][32];
  __shared__ alignas(8) unsigned long long barrier;
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile));
  unsigned bar = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  int column = blockIdx.x * 32, row = blockIdx.y * 16;
  bool first = threadIdx.x == 0 && threadIdx.y == 0;
  if (first) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (first) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
                 "r"((unsigned)sizeof tile)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(column), "r"(row), "r"(bar)
        : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        " selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(bar)
        : "memory");
  row += threadIdx.y, column += threadIdx.x;
  if (row < rows && column < columns)
    y[row * columns + column] = 2 * tile[threadIdx.y][threadIdx.x];
}

extern "C" __global__ void ranks(int* y) {
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) y[blockIdx.x] = (int)(rank + 10 * size);
}
