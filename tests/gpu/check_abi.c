/* Compares our declarations of the driver API and of NVRTC with the vendor's headers: every number
 * by a static assertion, every function type by an assignment. Compiling it is the test; it is
 * never run.
 *   cc -std=c11 -D_GNU_SOURCE -Werror -fsyntax-only -Ihost -I/usr/local/cuda/include \
 *      tests/gpu/check_abi.c */
#include <cuda.h>
#include <nvrtc.h>

#include "cuda/driver.h"
#include "cuda/nvrtc.h"

#if CUDA_VERSION < 13000
#error \
    "check_abi.c needs cuda.h of CUDA 13.0 or newer: older ones lack functions that driver.h names"
#endif

#define PG_X(name, number, sticky, code) \
  _Static_assert(number == CUDA_ERROR_##name, "CUDA_ERROR_" #name);
PG_CU_ERRORS(PG_X)
#undef PG_X
#define PG_X(name, number) \
  _Static_assert(number == CU_DEVICE_ATTRIBUTE_##name, "CU_DEVICE_ATTRIBUTE_" #name);
PG_CU_ATTRIBUTES(PG_X)
#undef PG_X
#define PG_X(name, number) \
  _Static_assert(number == CU_FUNC_ATTRIBUTE_##name, "CU_FUNC_ATTRIBUTE_" #name);
PG_CU_FUNC_ATTRIBUTES(PG_X)
#undef PG_X
#define PG_X(name, number) _Static_assert(number == CU_JIT_##name, "CU_JIT_" #name);
PG_CU_JIT_OPTIONS(PG_X)
#undef PG_X

#define PG_X(name, number) _Static_assert(number == NVRTC_##name, "NVRTC_" #name);
PG_NVRTC_RESULTS(PG_X)
#undef PG_X

_Static_assert(sizeof(cu_result) == sizeof(CUresult), "CUresult");
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(PG_CU_LAUNCH_END, CU_LAUNCH_PARAM_END_AS_INT);
SAME(PG_CU_LAUNCH_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
SAME(PG_CU_LAUNCH_BUFFER_SIZE, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);
SAME(PG_CU_STREAM_DEFAULT, CU_STREAM_DEFAULT);
SAME(PG_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(PG_CU_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(PG_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(PG_CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME(PG_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(PG_CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(PG_CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
SAME(PG_CU_LAUNCH_ATTRIBUTE_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(PG_CU_TENSOR_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_32B);
SAME(PG_CU_TENSOR_SWIZZLE_32B + 2, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(PG_CU_TENSOR_PROMOTE_256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
SAME(sizeof(cu_launch_attribute), sizeof(CUlaunchAttribute));
SAME(offsetof(cu_launch_attribute, value), offsetof(CUlaunchAttribute, value));
SAME(sizeof(cu_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(cu_launch_config, block), offsetof(CUlaunchConfig, blockDimX));
SAME(offsetof(cu_launch_config, shared), offsetof(CUlaunchConfig, sharedMemBytes));
SAME(offsetof(cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(cu_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(cu_launch_config, count), offsetof(CUlaunchConfig, numAttrs));
SAME(128, sizeof(CUtensorMap));
/* host/cuda/tensor.c numbers the types of elements. */
SAME(0, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(1, CU_TENSOR_MAP_DATA_TYPE_UINT16);
SAME(2, CU_TENSOR_MAP_DATA_TYPE_UINT32);
SAME(3, CU_TENSOR_MAP_DATA_TYPE_INT32);
SAME(4, CU_TENSOR_MAP_DATA_TYPE_UINT64);
SAME(5, CU_TENSOR_MAP_DATA_TYPE_INT64);
SAME(6, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(7, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME(8, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
SAME(9, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);

/* The handles are the same typedefs (C11 lets a typedef be repeated, but only identically), so what
 * is left is that each symbol has the type that its slot is called through. */
void check_types(pg_driver *driver, pg_nvrtc *compiler);
void check_types(pg_driver *driver, pg_nvrtc *compiler) {
#define PG_X(presence, name, symbol, arguments) driver->name = symbol;
  PG_DRIVER_CALLS(PG_X)
#undef PG_X
#define PG_X(presence, name, arguments) compiler->name = name;
  PG_NVRTC_CALLS(PG_X)
#undef PG_X
}
