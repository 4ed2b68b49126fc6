/* An OpenCL platform as a backend: PoCL, or Oclgrind when run under `oclgrind`. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { KERNELS = 16, PLATFORMS = 8 };

typedef struct opencl {
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_mem at[BUFFERS];
  struct {
    const char *name;
    cl_kernel kernel;
  } kernels[KERNELS];
} opencl;

static void must(cl_int code, const char *what) {
  if (code != CL_SUCCESS) die("OpenCL: %s failed with %d", what, code);
}

static void cl_buffer(backend *b, int index, size_t bytes) {
  opencl *o = b->state;
  cl_int code;
  if (o->at[index]) clReleaseMemObject(o->at[index]);
  o->at[index] = clCreateBuffer(o->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  must(code, "clCreateBuffer");
}

static void cl_write(backend *b, int index, const void *from, size_t bytes) {
  opencl *o = b->state;
  must(clEnqueueWriteBuffer(o->queue, o->at[index], CL_TRUE, 0, bytes, from, 0, NULL, NULL),
       "clEnqueueWriteBuffer");
}

static void cl_read(backend *b, int index, void *to, size_t bytes) {
  opencl *o = b->state;
  must(clEnqueueReadBuffer(o->queue, o->at[index], CL_TRUE, 0, bytes, to, 0, NULL, NULL),
       "clEnqueueReadBuffer");
}

static cl_kernel find_kernel(opencl *o, const char *name) {
  int i = 0;
  for (; i < KERNELS - 1 && o->kernels[i].name; i++) {
    if (!strcmp(o->kernels[i].name, name)) return o->kernels[i].kernel;
  }
  cl_int code;
  o->kernels[i].name = name;
  o->kernels[i].kernel = clCreateKernel(o->program, name, &code);
  must(code, name);
  return o->kernels[i].kernel;
}

static void cl_launch(backend *b, const char *name, const uint32_t blocks[2],
                      const uint32_t threads[2], const arg *args, int count) {
  opencl *o = b->state;
  cl_kernel kernel = find_kernel(o, name);
  for (int i = 0; i < count; i++) {
    const arg *a = &args[i];
    cl_int code = a->kind == 'b' ? clSetKernelArg(kernel, (cl_uint)i, sizeof(cl_mem), &o->at[a->u])
                  : a->kind == 'u' ? clSetKernelArg(kernel, (cl_uint)i, sizeof a->u, &a->u)
                                   : clSetKernelArg(kernel, (cl_uint)i, sizeof a->f, &a->f);
    must(code, "clSetKernelArg");
  }
  size_t local[2] = {threads[0], threads[1]};
  size_t global[2] = {(size_t)blocks[0] * local[0], (size_t)blocks[1] * local[1]};
  cl_uint dimensions = global[1] > 1 ? 2 : 1;
  must(clEnqueueNDRangeKernel(o->queue, kernel, dimensions, NULL, global, local, 0, NULL, NULL),
       "clEnqueueNDRangeKernel");
}

static void cl_finish(backend *b) {
  must(clFinish(((opencl *)b->state)->queue), "clFinish");
}

/* The platform whose name contains `name`. */
static cl_device_id find_device(const char *name) {
  cl_platform_id platforms[PLATFORMS];
  cl_uint count = 0;
  if (clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_SUCCESS) count = 0;
  for (cl_uint i = 0; i < count && i < PLATFORMS; i++) {
    char has[256] = "";
    cl_device_id device;
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof has, has, NULL);
    if (!strstr(has, name)) continue;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
      return device;
  }
  die("no OpenCL platform named %s; `make deps-sim-peers` installs it", name);
}

backend *opencl_backend(const char *name, const char *cl_file) {
  backend *b = calloc(1, sizeof *b);
  opencl *o = calloc(1, sizeof *o);
  FILE *file = fopen(cl_file, "rb");
  if (!b || !o || !file) die("cannot read %s", cl_file);
  static char text[1 << 16];
  const char *source = text;
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  *b = (backend){name, o, cl_buffer, cl_write, cl_read, cl_launch, cl_finish};
  cl_device_id device = find_device(name);
  cl_int code;
  o->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  must(code, "clCreateContext");
  o->queue = clCreateCommandQueue(o->context, device, 0, &code);
  must(code, "clCreateCommandQueue");
  o->program = clCreateProgramWithSource(o->context, 1, &source, &bytes, &code);
  must(code, "clCreateProgramWithSource");
  must(clBuildProgram(o->program, 1, &device, "", NULL, NULL), "clBuildProgram");
  return b;
}
