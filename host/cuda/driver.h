/* The CUDA driver API, opened at run time: the types, numbers and functions that perigee uses,
 * declared here so that no CUDA header is needed. tests/gpu/check_abi.c compares them with the
 * vendor's header where there is one. A pg_driver is a table of functions of a library that stays
 * loaded; it owns nothing. */
#ifndef PG_CUDA_DRIVER_H
#define PG_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../error.h"

typedef unsigned cu_result; /* CUresult: an enumeration, passed as an unsigned */
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
/* Only pointers to these are passed: what they point to is laid out by the structs below. */
typedef struct CUlaunchConfig_st CUlaunchConfig;
typedef struct CUtensorMap_st CUtensorMap;

typedef struct cu_launch_attribute { /* CUlaunchAttribute */
  unsigned id;
  char pad[4];
  union {
    unsigned cluster[3];
    int cooperative;
    char bytes[64];
  } value;
} cu_launch_attribute;

typedef struct cu_launch_config { /* CUlaunchConfig */
  unsigned grid[3], block[3], shared;
  CUstream stream;
  cu_launch_attribute *attributes;
  unsigned count;
} cu_launch_config;

/* CUDA_ERROR_* that are told apart; sticky: the context is lost. */
/*   name                     number sticky code */
#define PG_CU_ERRORS(X)                                     \
  X(INVALID_VALUE, 1, 0, PG_INVALID)                        \
  X(OUT_OF_MEMORY, 2, 0, PG_MEMORY)                         \
  X(NOT_INITIALIZED, 3, 0, PG_ENVIRONMENT)                  \
  X(DEINITIALIZED, 4, 0, PG_ENVIRONMENT)                    \
  X(STUB_LIBRARY, 34, 0, PG_ENVIRONMENT)                    \
  X(DEVICE_UNAVAILABLE, 46, 0, PG_ENVIRONMENT)              \
  X(NO_DEVICE, 100, 0, PG_ENVIRONMENT)                      \
  X(INVALID_DEVICE, 101, 0, PG_ENVIRONMENT)                 \
  X(INVALID_IMAGE, 200, 0, PG_SYNTAX)                       \
  X(INVALID_CONTEXT, 201, 0, PG_INTERNAL)                   \
  X(NO_BINARY_FOR_GPU, 209, 0, PG_UNSUPPORTED)              \
  X(ECC_UNCORRECTABLE, 214, 1, PG_ENVIRONMENT)              \
  X(INVALID_PTX, 218, 0, PG_SYNTAX)                         \
  X(NVLINK_UNCORRECTABLE, 220, 1, PG_ENVIRONMENT)           \
  X(JIT_COMPILER_NOT_FOUND, 221, 0, PG_ENVIRONMENT)         \
  X(UNSUPPORTED_PTX_VERSION, 222, 0, PG_UNSUPPORTED)        \
  X(CONTAINED, 226, 1, PG_ENVIRONMENT)                      \
  X(SHARED_OBJECT_INIT_FAILED, 303, 0, PG_ENVIRONMENT)      \
  X(OPERATING_SYSTEM, 304, 0, PG_ENVIRONMENT)               \
  X(INVALID_HANDLE, 400, 0, PG_INVALID)                     \
  X(NOT_FOUND, 500, 0, PG_NOT_FOUND)                        \
  X(ILLEGAL_ADDRESS, 700, 1, PG_LAUNCH)                     \
  X(LAUNCH_OUT_OF_RESOURCES, 701, 0, PG_LAUNCH)             \
  X(LAUNCH_TIMEOUT, 702, 1, PG_TIMEOUT)                     \
  X(CONTEXT_IS_DESTROYED, 709, 1, PG_LAUNCH)                \
  X(ASSERT, 710, 1, PG_LAUNCH)                              \
  X(HARDWARE_STACK_ERROR, 714, 1, PG_LAUNCH)                \
  X(ILLEGAL_INSTRUCTION, 715, 1, PG_LAUNCH)                 \
  X(MISALIGNED_ADDRESS, 716, 1, PG_LAUNCH)                  \
  X(INVALID_ADDRESS_SPACE, 717, 1, PG_LAUNCH)               \
  X(INVALID_PC, 718, 1, PG_LAUNCH)                          \
  X(LAUNCH_FAILED, 719, 1, PG_LAUNCH)                       \
  X(COOPERATIVE_LAUNCH_TOO_LARGE, 720, 0, PG_LAUNCH)        \
  X(TENSOR_MEMORY_LEAK, 721, 1, PG_LAUNCH)                  \
  X(NOT_PERMITTED, 800, 0, PG_ENVIRONMENT)                  \
  X(NOT_SUPPORTED, 801, 0, PG_UNSUPPORTED)                  \
  X(SYSTEM_NOT_READY, 802, 0, PG_ENVIRONMENT)               \
  X(SYSTEM_DRIVER_MISMATCH, 803, 0, PG_ENVIRONMENT)         \
  X(COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, 0, PG_ENVIRONMENT) \
  X(INVALID_CLUSTER_SIZE, 912, 0, PG_LAUNCH)                \
  X(UNKNOWN, 999, 0, PG_ENVIRONMENT)

enum {
  PG_CU_SUCCESS = 0,
#define PG_X(name, number, sticky, code) PG_CU_##name = number,
  PG_CU_ERRORS(PG_X)
#undef PG_X
};

/* CU_DEVICE_ATTRIBUTE_*, CU_FUNC_ATTRIBUTE_* and CU_JIT_* in use. */
#define PG_CU_ATTRIBUTES(X)         \
  X(MAX_THREADS_PER_BLOCK, 1)       \
  X(MAX_BLOCK_DIM_X, 2)             \
  X(MAX_BLOCK_DIM_Y, 3)             \
  X(MAX_BLOCK_DIM_Z, 4)             \
  X(MAX_GRID_DIM_X, 5)              \
  X(MAX_GRID_DIM_Y, 6)              \
  X(MAX_GRID_DIM_Z, 7)              \
  X(MAX_SHARED_MEMORY_PER_BLOCK, 8) \
  X(MULTIPROCESSOR_COUNT, 16)       \
  X(MEMORY_CLOCK_RATE, 36)          \
  X(GLOBAL_MEMORY_BUS_WIDTH, 37)    \
  X(L2_CACHE_SIZE, 38)              \
  X(COMPUTE_CAPABILITY_MAJOR, 75)   \
  X(COMPUTE_CAPABILITY_MINOR, 76)   \
  X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)

#define PG_CU_FUNC_ATTRIBUTES(X) \
  X(MAX_THREADS_PER_BLOCK, 0)    \
  X(SHARED_SIZE_BYTES, 1)        \
  X(LOCAL_SIZE_BYTES, 3)         \
  X(NUM_REGS, 4)                 \
  X(MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)

#define PG_CU_JIT_OPTIONS(X)        \
  X(ERROR_LOG_BUFFER, 5)            \
  X(ERROR_LOG_BUFFER_SIZE_BYTES, 6) \
  X(GENERATE_LINE_INFO, 13)

enum {
#define PG_X(name, number) PG_CU_ATTRIBUTE_##name = number,
  PG_CU_ATTRIBUTES(PG_X)
#undef PG_X
#define PG_X(name, number) PG_CU_FUNC_##name = number,
      PG_CU_FUNC_ATTRIBUTES(PG_X)
#undef PG_X
#define PG_X(name, number) PG_CU_JIT_##name = number,
          PG_CU_JIT_OPTIONS(PG_X)
#undef PG_X
              PG_CU_LAUNCH_END = 0, /* entries of cuLaunchKernel's `extra` list, cast to pointers */
  PG_CU_LAUNCH_BUFFER_POINTER = 1,
  PG_CU_LAUNCH_BUFFER_SIZE = 2,
  PG_CU_STREAM_DEFAULT = 0, /* ordered with the legacy default stream, as the libraries expect */
  PG_CU_STREAM_NON_BLOCKING = 1,
  PG_CU_EVENT_DEFAULT = 0,
  PG_CU_EVENT_DISABLE_TIMING = 2,
  PG_CU_HOST_PORTABLE = 1,
  PG_CU_NOT_READY = 600, /* what an event or a stream is while it has work to do */
  PG_CU_CAPTURE_RELAXED = 2,
  PG_CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  PG_CU_LAUNCH_ATTRIBUTE_CLUSTER = 4,
  PG_CU_TENSOR_SWIZZLE_32B = 1, /* 64 and 128 bytes follow; 0 is none */
  PG_CU_TENSOR_PROMOTE_256B = 3,
};

/* Functions: presence ('!' required, '?' newer than the oldest driver we accept, 11.0), our name,
 * the symbol (with the version that fits these types), arguments. */
#define PG_DRIVER_CALLS(X)                                                                         \
  X('!', Init, cuInit, (unsigned flags))                                                           \
  X('!', DriverGetVersion, cuDriverGetVersion, (int *version))                                     \
  X('!', GetErrorName, cuGetErrorName, (cu_result error, const char **name))                       \
  X('!', GetErrorString, cuGetErrorString, (cu_result error, const char **text))                   \
  X('!', DeviceGetCount, cuDeviceGetCount, (int *count))                                           \
  X('!', DeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                 \
  X('!', DeviceGetName, cuDeviceGetName, (char *name, int bytes, CUdevice device))                 \
  X('!', DeviceGetAttribute, cuDeviceGetAttribute,                                                 \
    (int *value, unsigned attribute, CUdevice device))                                             \
  X('!', DeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                   \
  X('!', DeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *id, int bytes, CUdevice device))           \
  X('!', DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device)) \
  X('!', DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                 \
  X('!', CtxSetCurrent, cuCtxSetCurrent, (CUcontext context))                                      \
  X('!', CtxSynchronize, cuCtxSynchronize, (void))                                                 \
  X('!', MemGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                             \
  X('!', MemAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                           \
  X('!', MemFree, cuMemFree_v2, (CUdeviceptr pointer))                                             \
  X('!', MemHostAlloc, cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))             \
  X('!', MemFreeHost, cuMemFreeHost, (void *pointer))                                              \
  X('!', MemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))            \
  X('!', MemcpyDtoH, cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                  \
  X('!', MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                    \
    (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                             \
  X('!', MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                                    \
    (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                                   \
  X('!', MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                    \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                             \
  X('!', MemsetD8Async, cuMemsetD8Async,                                                           \
    (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))                          \
  X('!', MemsetD16Async, cuMemsetD16Async,                                                         \
    (CUdeviceptr to, unsigned short value, size_t count, CUstream stream))                         \
  X('!', MemsetD32Async, cuMemsetD32Async,                                                         \
    (CUdeviceptr to, unsigned value, size_t count, CUstream stream))                               \
  X('!', ModuleLoadDataEx, cuModuleLoadDataEx,                                                     \
    (CUmodule * module, const void *image, unsigned count, unsigned *options, void **values))      \
  X('!', ModuleUnload, cuModuleUnload, (CUmodule module))                                          \
  X('!', ModuleGetFunction, cuModuleGetFunction,                                                   \
    (CUfunction * function, CUmodule module, const char *name))                                    \
  X('!', ModuleGetGlobal, cuModuleGetGlobal_v2,                                                    \
    (CUdeviceptr * pointer, size_t * bytes, CUmodule module, const char *name))                    \
  X('?', ModuleGetFunctionCount, cuModuleGetFunctionCount, (unsigned *count, CUmodule module))     \
  X('?', ModuleEnumerateFunctions, cuModuleEnumerateFunctions,                                     \
    (CUfunction * functions, unsigned count, CUmodule module))                                     \
  X('?', FuncGetName, cuFuncGetName, (const char **name, CUfunction function))                     \
  X('!', FuncGetAttribute, cuFuncGetAttribute,                                                     \
    (int *value, unsigned attribute, CUfunction function))                                         \
  X('!', FuncSetAttribute, cuFuncSetAttribute,                                                     \
    (CUfunction function, unsigned attribute, int value))                                          \
  X('?', FuncGetParamInfo, cuFuncGetParamInfo,                                                     \
    (CUfunction function, size_t index, size_t * offset, size_t * size))                           \
  X('!', LaunchKernel, cuLaunchKernel,                                                             \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
     unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params,          \
     void **extra))                                                                                \
  X('!', LaunchCooperativeKernel, cuLaunchCooperativeKernel,                                       \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
     unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **params))         \
  X('?', LaunchKernelEx, cuLaunchKernelEx,                                                         \
    (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))              \
  X('?', TensorMapEncodeTiled, cuTensorMapEncodeTiled,                                             \
    (CUtensorMap * map, unsigned type, uint32_t rank, void *at, const uint64_t *shape,             \
     const uint64_t *strides, const uint32_t *box, const uint32_t *steps, unsigned interleave,     \
     unsigned swizzle, unsigned promotion, unsigned fill))                                         \
  X('!', StreamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                        \
  X('!', StreamSynchronize, cuStreamSynchronize, (CUstream stream))                                \
  X('!', StreamDestroy, cuStreamDestroy_v2, (CUstream stream))                                     \
  X('!', EventCreate, cuEventCreate, (CUevent * event, unsigned flags))                            \
  X('!', EventRecord, cuEventRecord, (CUevent event, CUstream stream))                             \
  X('!', EventQuery, cuEventQuery, (CUevent event))                                                \
  X('!', EventSynchronize, cuEventSynchronize, (CUevent event))                                    \
  X('!', EventDestroy, cuEventDestroy_v2, (CUevent event))                                         \
  X('?', StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, unsigned mode))            \
  X('?', StreamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                 \
  X('?', GraphInstantiate, cuGraphInstantiateWithFlags,                                            \
    (CUgraphExec * exec, CUgraph graph, unsigned long long flags))                                 \
  X('?', GraphLaunch, cuGraphLaunch, (CUgraphExec exec, CUstream stream))                          \
  X('?', GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec exec))                                 \
  X('?', GraphDestroy, cuGraphDestroy, (CUgraph graph))                                            \
  X('?', CtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, (void))                           \
  X('?', EventElapsedTime2, cuEventElapsedTime_v2,                                                 \
    (float *milliseconds, CUevent start, CUevent stop))                                            \
  X('!', EventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent stop))

typedef struct pg_driver {
#define PG_X(presence, name, symbol, arguments) cu_result(*name) arguments;
  PG_DRIVER_CALLS(PG_X)
#undef PG_X
  int version; /* of CUDA: 13000 for 13.0 */
} pg_driver;

/* Load libcuda.so.1 and initialise it. PG_ENVIRONMENT says what is missing. */
pg_code pg_driver_open(pg_driver *out, pg_error *error);
/* Fill the table through `find` (tests pass their own); PG_ENVIRONMENT names a missing function. */
typedef void *(*pg_driver_find)(void *context, const char *symbol);
pg_code pg_driver_resolve(pg_driver *out, pg_driver_find find, void *context, pg_error *error);
/* cuInit and the version. */
pg_code pg_driver_init(pg_driver *driver, pg_error *error);
/* Whether a driver and a GPU that is not hidden seem to be here; initialises nothing. */
bool pg_driver_present(void);

/* Name ("CUDA_ERROR_LAUNCH_FAILED") and text of a result; "?" when the driver knows neither. */
const char *pg_driver_name(const pg_driver *driver, cu_result result);
const char *pg_driver_text(const pg_driver *driver, cu_result result);
pg_code pg_driver_code(cu_result result);
bool pg_driver_sticky(cu_result result);
/* Fail with "doing: NAME (number): text". */
pg_code pg_driver_fail(const pg_driver *driver, cu_result result, pg_error *error,
                       const char *doing);

#endif
