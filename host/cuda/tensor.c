/* Tensor maps: what a kernel's tensor copies need to know of a buffer, encoded by the driver. */
#include <string.h>

#include "../dtype.h"
#include "state.h"

/* CUtensorMapDataType of a scalar; -1: copies know no such element. Bytes serve for the 8-bit
 * formats. */
static int type_of(int scalar) {
  switch (scalar) {
  case PG_U8:
  case PG_I8:
  case PG_BOOL:
  case PG_F8E4M3:
  case PG_F8E5M2: return 0;
  case PG_U16:
  case PG_I16: return 1;
  case PG_U32: return 2;
  case PG_I32: return 3;
  case PG_U64: return 4;
  case PG_I64: return 5;
  case PG_F16: return 6;
  case PG_F32: return 7;
  case PG_F64: return 8;
  case PG_BF16: return 9;
  default: return -1;
  }
}

/* The driver says only that something is invalid; the rules are few enough to be told. */
static pg_code explain(pg_cuda *cuda, cu_result result, pg_error *error) {
  pg_code code = pg_cuda_check(cuda, result, error, "encoding a tensor map");
  pg_hint(error, "rows are multiples of 16 bytes; a box has sides of 1 to 256, its rows are "
                 "multiples of 16 bytes and no longer than the swizzle");
  if (code == PG_INVALID && error) error->code = PG_LAUNCH;
  return code == PG_INVALID ? PG_LAUNCH : code;
}

/* Ours are row-major, the driver's start with what runs fastest. */
pg_code pg_cuda_tensor_map(pg_device *device, pg_ptr at, const pg_tensor *t, void *out,
                           pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  uint64_t shape[PG_TENSOR_RANK_MAX], strides[PG_TENSOR_RANK_MAX];
  uint32_t box[PG_TENSOR_RANK_MAX], steps[PG_TENSOR_RANK_MAX];
  _Alignas(128) unsigned char map[PG_TENSOR_MAP_BYTES] = {0};
  int type = type_of(t->scalar);
  if (!cuda->driver.TensorMapEncodeTiled || cuda->info.cc_major < 9)
    return pg_fail(error, PG_UNSUPPORTED,
                   "tensor maps need a GPU of compute capability 9.0 and a "
                   "driver of CUDA 12");
  if (type < 0) return pg_fail(error, PG_UNSUPPORTED, "tensor maps have no elements of this type");
  uint64_t bytes = pg_scalar_size((pg_scalar)t->scalar);
  for (int i = 0; i < t->rank; i++) {
    shape[i] = t->shape[t->rank - 1 - i];
    box[i] = t->box[t->rank - 1 - i];
    steps[i] = 1;
    bytes *= shape[i];
    strides[i] = bytes; /* of the next index */
  }
  unsigned swizzle = t->swizzle ? (unsigned)__builtin_ctz((unsigned)t->swizzle) - 4 : 0;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = cuda->driver.TensorMapEncodeTiled(
      (CUtensorMap *)(void *)map, (unsigned)type, (uint32_t)t->rank, (void *)(uintptr_t)at, shape,
      strides, box, steps, 0, swizzle, PG_CU_TENSOR_PROMOTE_256B, 0);
  if (result) return explain(cuda, result, error);
  memcpy(out, map, sizeof map);
  return PG_OK;
}
