// Threads of one block that race. See README.md.
#include "zoo.h"

// race_lanes: lanes of one warp exchange through shared memory without __syncwarp.
// launch 1 32
// > race: read, unordered with another access in kernel race_lanes at race.cu:14
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at race.cu:13 by block (0, 0, 0), thread (1, 0, 0)
// >   inside s (128 bytes), byte 4
// >   instruction: ld.shared.u32 %r8, [%r7] (PTX line 61)
KERNEL(race_lanes) {
  __shared__ int s[32];
  s[I] = a[I];
  a[I] = s[I ^ 1];
}
KERNEL(race_lanes_fixed) {
  __shared__ int s[32];
  s[I] = a[I];
  __syncwarp();
  a[I] = s[I ^ 1];
}

// race_warps: __syncwarp where a barrier of the block is needed.
// launch 1 64
// > race: write, unordered with another access in kernel race_warps at race.cu:34
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: read at race.cu:36 by block (0, 0, 0), thread (63, 0, 0)
// >   inside s (256 bytes), byte 0
// >   instruction: st.shared.u32 [%r10], %r8 (PTX line 139)
KERNEL(race_warps) {
  __shared__ int s[64];
  s[63 - I] = 0;
  __syncthreads();
  s[I] = a[I];
  __syncwarp();
  a[I] = s[63 - I];
}
KERNEL(race_warps_fixed) {
  __shared__ int s[64];
  s[I] = a[I];
  __syncthreads();
  a[I] = s[63 - I];
}

// race_halves: each half of the warp meets, and reads what the other half wrote.
// launch 1 32
// > race: read, unordered with another access in kernel race_halves at race.cu:56
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at race.cu:54 by block (0, 0, 0), thread (16, 0, 0)
// >   inside s (128 bytes), byte 64
// >   instruction: ld.shared.u32 %r9, [%r8] (PTX line 225)
KERNEL(race_halves) {
  __shared__ int s[32];
  s[I] = a[I];
  __syncwarp(I < 16 ? 0xffff : 0xffff0000);
  a[I] = s[I ^ 16];
}
KERNEL(race_halves_fixed) {
  __shared__ int s[32];
  s[I] = a[I];
  __syncwarp(I < 16 ? 0xffff : 0xffff0000);
  a[I] = s[I ^ 8];
}

// race_after_read: the second barrier of a shift is missing.
// launch 1 64
// > race: write, unordered with another access in kernel race_after_read at race.cu:78
// >   block (0, 0, 0), thread (33, 0, 0)
// >   the other: read at race.cu:77 by block (0, 0, 0), thread (32, 0, 0)
// >   inside s (260 bytes), byte 132
// >   instruction: st.shared.u32 [%r1], %r7 (PTX line 313)
KERNEL(race_after_read) {
  __shared__ int s[65];
  s[I] = a[I];
  if (I == 0) s[64] = 0;
  __syncthreads();
  int next = s[I + 1];
  s[I] = next;
  a[I] = s[I];
}
KERNEL(race_after_read_fixed) {
  __shared__ int s[65];
  s[I] = a[I];
  if (I == 0) s[64] = 0;
  __syncthreads();
  int next = s[I + 1];
  __syncthreads();
  s[I] = next;
  a[I] = s[I];
}

// race_loop: one buffer, filled anew while others still read it.
// launch 1 64
// > race: read, unordered with another access in kernel race_loop at race.cu:110
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at race.cu:108 by block (0, 0, 0), thread (63, 0, 0)
// >   inside s (256 bytes), byte 252
// >   instruction: ld.shared.u32 %r10, [%r8] (PTX line 403)
// > race: read, unordered with another access in kernel race_loop at race.cu:110
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: write at race.cu:108 by block (0, 0, 0), thread (31, 0, 0)
// >   inside s (256 bytes), byte 124
// >   instruction: ld.shared.u32 %r12, [%r8] (PTX line 410)
KERNEL(race_loop) {
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < 3; k++) {
    s[I] = a[k * 64 + I];
    __syncthreads();
    sum += s[63 - I];
  }
  a[I + 192] = sum;
}
KERNEL(race_loop_fixed) {
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < 3; k++) {
    s[I] = a[k * 64 + I];
    __syncthreads();
    sum += s[63 - I];
    __syncthreads();
  }
  a[I + 192] = sum;
}

// race_same_value: every thread of two warps sets the flag; weak, for it is one value.
// launch 1 64
// > weak write: write, unordered with a write of the same value in kernel race_same_value at race.cu:134
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: write at race.cu:134 by block (0, 0, 0), thread (31, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: st.global.u32 [%rd1], %r4 (PTX line 516)
KERNEL(race_same_value) {
  if (a[I + 64] == 0) a[0] = 1;
}
KERNEL(race_same_value_fixed) {
  if (a[I + 64] == 0) atomicExch(&a[0], 1);
}

// race_byte: neighbours share a byte; a byte each is no race.
// launch 1 32
// > race: write, unordered with another access in kernel race_byte at race.cu:147
// >   block (0, 0, 0), thread (1, 0, 0)
// >   the other: write at race.cu:147 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: st.global.u8 [%rd4], %r1 (PTX line 581)
KERNEL(race_byte) { ((char *)a)[I / 2] = (char)I; }
KERNEL(race_byte_fixed) { ((char *)a)[I] = 1; }

// race_vector: a vector store overlaps the neighbour's word.
// launch 1 32
// > race: write, unordered with another access in kernel race_vector at race.cu:159
// >   block (0, 0, 0), thread (1, 0, 0)
// >   the other: write at race.cu:161 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 12
// >   instruction: st.global.u32 [%rd1+4], %r4 (PTX line 656)
KERNEL(race_vector) {
  if (I & 1)
    a[2 * I + 1] = 1;
  else
    *(int4 *)(a + 2 * I) = make_int4(1, 2, 3, 4);
}
KERNEL(race_vector_fixed) {
  if (I & 1)
    a[2 * I + 100] = 1;
  else
    *(int4 *)(a + 2 * I) = make_int4(1, 2, 3, 4);
}

// race_mixed: some count with an atomic, one without.
// launch 1 64
// > race: atomic, unordered with another access in kernel race_mixed at device_atomic_functions.hpp:107 (inlined at race.cu:184)
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: write at race.cu:182 by block (0, 0, 0), thread (63, 0, 0)
// >   inside count (4 bytes), byte 0
// >   instruction: atom.shared.add.u32 %r4, [%r3], 1 (PTX line 759)
KERNEL(race_mixed) {
  __shared__ int count;
  if (I == 0) count = 0;
  __syncthreads();
  if (I == 63)
    count++;
  else
    atomicAdd(&count, 1);
  __syncthreads();
  a[I] = count;
}
KERNEL(race_mixed_fixed) {
  __shared__ int count;
  if (I == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  __syncthreads();
  a[I] = count;
}

// race_named: two halves of the block meet at barriers of their own.
// launch 1 128
// > race: write, unordered with another access in kernel race_named at race.cu:208
// >   block (0, 0, 0), thread (64, 0, 0)
// >   the other: read at race.cu:213 by block (0, 0, 0), thread (63, 0, 0)
// >   inside s (512 bytes), byte 256
// >   instruction: st.shared.u32 [%r9], %r1 (PTX line 853)
KERNEL(race_named) {
  __shared__ int s[128];
  s[127 - I] = 0;
  __syncthreads();
  s[I] = I;
  if (I < 64)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  a[I] = s[127 - I];
}
KERNEL(race_named_fixed) {
  __shared__ int s[128];
  s[I] = I;
  if (I < 64)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  a[I] = s[I ^ 63];
}

// race_arrive: who only arrives does not wait for the others.
// launch 1 64
// > race: read, unordered with another access in kernel race_arrive at race.cu:241
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at race.cu:236 by block (0, 0, 0), thread (32, 0, 0)
// >   inside s (256 bytes), byte 128
// >   instruction: ld.shared.u32 %r14, [%r13] (PTX line 995)
KERNEL(race_arrive) {
  __shared__ int s[64];
  s[63 - I] = 0;
  __syncthreads();
  s[I] = I;
  if (I < 32)
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 1, 64;" ::: "memory");
  a[I] = s[I ^ 32];
}
KERNEL(race_arrive_fixed) {
  __shared__ int s[64];
  s[I] = I;
  if (I < 32)
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 1, 64;" ::: "memory");
  a[I] = I < 32 ? I : s[I ^ 32];
}

// race_reduction: the last five steps of a reduction, as they were written before Volta.
// launch 1 32
// > race: read, unordered with another access in kernel race_reduction at race.cu:266
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at race.cu:266 by block (0, 0, 0), thread (16, 0, 0)
// >   inside s (256 bytes), byte 64
// >   instruction: ld.shared.u32 %r15, [%r14] (PTX line 1104)
KERNEL(race_reduction) {
  __shared__ int s[64];
  s[I] = a[I];
  s[I + 32] = a[I + 32];
  __syncwarp();
#pragma unroll 1
  for (int step = 32; step > 0; step /= 2) s[I] += s[I + step];
  if (I == 0) a[0] = s[0];
}
KERNEL(race_reduction_fixed) {
  __shared__ int s[64];
  s[I] = a[I];
  s[I + 32] = a[I + 32];
  for (int step = 32; step > 0; step /= 2) {
    __syncwarp();
    int other = s[I + step];
    __syncwarp();
    s[I] += other;
  }
  if (I == 0) a[0] = s[0];
}

// race_lane_values: lanes of one warp write their numbers to one word. The same value from all of them is no race: one of the
// writes is performed, whichever.
// launch 1 32
// > race: write, unordered with another access in kernel race_lane_values at race.cu:290
// >   block (0, 0, 0), thread (1, 0, 0)
// >   the other: write at race.cu:290 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: st.global.u32 [%rd2], %r1 (PTX line 1245)
KERNEL(race_lane_values) { a[0] = I; }
KERNEL(race_lane_values_fixed) { a[0] = n; }
