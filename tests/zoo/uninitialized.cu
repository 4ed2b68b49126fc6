// Reads of memory that nobody has written. See README.md.
#include "zoo.h"

// unwritten_global: b is read before anything is in it.
// launch 1 64
// > read of 4 bytes that were never written in kernel unwritten_global at uninitialized.cu:10
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside b (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r2, [%rd6] (PTX line 41)
KERNEL(unwritten_global) { a[I] = b[I]; }
KERNEL(unwritten_global_fixed) {
  b[I] = I;
  a[I] = b[I];
}

// unwritten_shared: half of the array is filled, all of it is read.
// launch 1 64
// > read of 4 bytes that were never written in kernel unwritten_shared at uninitialized.cu:26
// >   block (0, 0, 0), thread (33, 0, 0)
// >   inside s (256 bytes), byte 132
// >   instruction: ld.shared.u32 %r6, [%r1] (PTX line 116)
KERNEL(unwritten_shared) {
  __shared__ int s[64];
  if (I < 32) s[I] = a[I];
  __syncthreads();
  a[I] = s[I];
}
KERNEL(unwritten_shared_fixed) {
  __shared__ int s[64];
  s[I] = a[I];
  __syncthreads();
  a[I] = s[I];
}

// unwritten_local: one word of four is set, another is read.
// launch 1 1
// > read of 4 bytes that were never written in kernel unwritten_local at uninitialized.cu:44
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside local memory (16 bytes), byte 4
// >   instruction: ld.local.u32 %r5, [%rd10] (PTX line 191)
KERNEL(unwritten_local) {
  int mine[4];
  mine[n & 3] = 1;
  a[0] = mine[(n + 1) & 3];
}
KERNEL(unwritten_local_fixed) {
  int mine[4];
  mine[n & 3] = 1;
  mine[(n + 1) & 3] = 2;
  a[0] = mine[(n + 1) & 3];
}

// unwritten_atomic: a counter that was never set to 0.
// launch 2 32
// > read of 4 bytes that were never written in kernel unwritten_atomic at device_atomic_functions.hpp:107 (inlined at uninitialized.cu:59)
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside b (1024 bytes), byte 0
// >   instruction: atom.global.add.u32 %r1, [%rd2], 1 (PTX line 238)
KERNEL(unwritten_atomic) { atomicAdd(&b[0], 1); }
KERNEL(unwritten_atomic_fixed) { atomicAdd(&a[0], 1); }

// unwritten_dynamic: dynamic shared memory is not zero.
// launch 1 32
// > read of 4 bytes that were never written in kernel unwritten_dynamic at device_atomic_functions.hpp:107 (inlined at uninitialized.cu:70)
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside dynamic shared memory (64 bytes), byte 0
// >   instruction: atom.shared.add.u32 %r9, [%r8], 1 (PTX line 293)
KERNEL(unwritten_dynamic) {
  extern __shared__ int d[];
  atomicAdd(&d[I / 16], 1);
  __syncthreads();
  if (I < 2) a[I] = d[I];
}
KERNEL(unwritten_dynamic_fixed) {
  extern __shared__ int d[];
  if (I < 2) d[I] = 0;
  __syncthreads();
  atomicAdd(&d[I / 16], 1);
  __syncthreads();
  if (I < 2) a[I] = d[I];
}

// unwritten_tail: a reduction of 48 values as if they were 64.
// launch 1 48
// > read of 4 bytes that were never written in kernel unwritten_tail at uninitialized.cu:93
// >   block (0, 0, 0), thread (17, 0, 0)
// >   inside s (256 bytes), byte 196
// >   instruction: ld.shared.u32 %r7, [%r1+128] (PTX line 409)
KERNEL(unwritten_tail) {
  __shared__ int s[64];
  s[I] = a[I];
  __syncthreads();
  if (I < 32) a[I] = s[I] + s[I + 32];
}
KERNEL(unwritten_tail_fixed) {
  __shared__ int s[64];
  s[I] = a[I];
  __syncthreads();
  if (I < 32) a[I] = s[I] + (I + 32 < 48 ? s[I + 32] : 0);
}

// unwritten_byte: the byte after a string that was copied.
// launch 1 1
// > read of 1 bytes that were never written in kernel unwritten_byte at uninitialized.cu:111
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside b (1024 bytes), byte 3
// >   instruction: ld.global.s8 %r3, [%rd8] (PTX line 502)
KERNEL(unwritten_byte) {
  char *to = (char *)b, *from = (char *)c;
  for (int i = 0; i < 3; i++) to[i] = from[i];
  a[0] = to[n - 61];
}
KERNEL(unwritten_byte_fixed) {
  char *to = (char *)b, *from = (char *)c;
  for (int i = 0; i < 4; i++) to[i] = from[i];
  a[0] = to[n - 61];
}
