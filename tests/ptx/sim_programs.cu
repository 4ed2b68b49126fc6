// Programs with the libraries that come with CUDA: CUB block and warp primitives, cooperative groups,
// cuda::atomic_ref, libdevice mathematics, half arithmetic.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/atomic>

namespace cg = cooperative_groups;

extern "C" __global__ void cub_block(const int *in, int *sum, int *scan, unsigned *sorted) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
  } temp;
  int x = in[threadIdx.x], y, total = Reduce(temp.reduce).Sum(x);
  __syncthreads();
  Scan(temp.scan).InclusiveSum(x, y);
  __syncthreads();
  unsigned keys[4];
  for (int i = 0; i < 4; i++) keys[i] = (unsigned)x * 2654435761u + i * 77777u;
  Sort(temp.sort).Sort(keys);
  if (threadIdx.x == 0) *sum = total;
  scan[threadIdx.x] = y;
  for (int i = 0; i < 4; i++) sorted[threadIdx.x * 4 + i] = keys[i];
}

extern "C" __global__ void cub_warp(const int *in, int *sum, int *scan) {
  using Reduce = cub::WarpReduce<int>;
  using Scan = cub::WarpScan<int>;
  __shared__ typename Reduce::TempStorage reduce[2];
  __shared__ typename Scan::TempStorage temp[2];
  int warp = threadIdx.x / 32, y, total = Reduce(reduce[warp]).Sum(in[threadIdx.x]);
  Scan(temp[warp]).ExclusiveSum(in[threadIdx.x], y);
  if (threadIdx.x % 32 == 0) sum[warp] = total;
  scan[threadIdx.x] = y;
}

extern "C" __global__ void groups(const int *in, int *tiles, int *odd, int *sum, float *most) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  __shared__ int copy[256];
  __shared__ float best;
  if (threadIdx.x == 0) best = 0;
  cg::memcpy_async(block, copy, in, sizeof copy);
  cg::wait(block);
  int i = block.thread_rank(), x = copy[i];
  tiles[i] = cg::reduce(tile, x, cg::plus<int>());
  odd[i] = 0;
  if (x & 1) {
    auto together = cg::coalesced_threads();
    odd[i] = together.size() * 100 + together.thread_rank();
  }
  cuda::atomic_ref<int, cuda::thread_scope_device>(*sum).fetch_add(x, cuda::memory_order_relaxed);
  cuda::atomic_ref<float, cuda::thread_scope_block>(best).fetch_max((float)x);
  block.sync();
  if (i == 0) *most = best;
}

extern "C" __global__ void grid_groups(int *data, int *out) {
  auto grid = cg::this_grid();
  data[grid.thread_rank()] = grid.thread_rank();
  grid.sync();
  out[grid.thread_rank()] = data[grid.size() - 1 - grid.thread_rank()];
}

extern "C" __global__ void doubles(const double *x, double *out) {
  int i = threadIdx.x, k = 0;
  double a = x[i], b = fabs(a) + 0.25;
  double all[] = {sin(a),   cos(a),     tan(a),   exp(a),   log(b),      pow(b, 1.3),      erf(a),
                  tgamma(b), cbrt(a),   j0(a),    fmod(a, 1.7), remainder(a, 2.2), atan2(a, 2.), lgamma(b),
                  hypot(a, 3.), expm1(a), asinh(a), exp2(a)};
  for (double v : all) out[i * 18 + k++] = v;
}

extern "C" __global__ void singles(const float *x, float *out) {
  int i = threadIdx.x, k = 0;
  float a = x[i], b = fabsf(a) + 0.25f;
  float all[] = {sinf(a),   cosf(a),  tanf(a),        expf(a),         logf(b),        powf(b, 1.3f), erff(a),
                 tgammaf(b), cbrtf(a), fmodf(a, 1.7f), atan2f(a, 2.0f), hypotf(a, 3.0f), tanhf(a),   log1pf(b)};
  for (float v : all) out[i * 14 + k++] = v;
}

extern "C" __global__ void half_sums(const __half *x, __half *sum, __half2 *sum2, __nv_bfloat16 *sum3, float *out) {
  int i = threadIdx.x;
  __half a = x[i];
  atomicAdd(sum, a);
  atomicAdd(sum2, __halves2half2(a, __hneg(a)));
  atomicAdd(sum3, __float2bfloat16(__half2float(a)));
  out[i] = __half2float(__hfma(a, a, __float2half(0.5f))) + (__hgt(a, __float2half(2.0f)) ? 100.0f : 0.0f);
}
