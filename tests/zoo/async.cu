// Asynchronous copies and barriers in shared memory that are not waited for. See README.md.
#include "zoo.h"

typedef unsigned int u32;
typedef unsigned long long u64;

static __device__ u32 shared_of(const void *p) {
  return (u32)__cvta_generic_to_shared(p);
}
static __device__ void copy(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_of(to)), "l"(from)
               : "memory");
}
static __device__ void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
static __device__ void wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}
static __device__ void wait_but_one() {
  asm volatile("cp.async.wait_group 1;" ::: "memory");
}
static __device__ void set_up(u64 *b, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_of(b)), "r"(count) : "memory");
}
static __device__ void arrive(u64 *b) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(shared_of(b))
               : "memory");
}
static __device__ void arrive_after_copies(u64 *b) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_of(b)) : "memory");
}
static __device__ bool is_done(u64 *b, int parity) {
  int done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2;"
               " selp.s32 %0, 1, 0, p; }"
               : "=r"(done)
               : "r"(shared_of(b)), "r"(parity)
               : "memory");
  return done;
}

// copy_no_wait: a barrier does not wait for copies.
// launch 1 64
// > race: read, unordered with a copy that was not waited for in kernel copy_no_wait at async.cu:54
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: write at async.cu:11 (inlined at async.cu:52) by block (0, 0, 0), thread (31, 0, 0)
// >   inside s (256 bytes), byte 124
// >   instruction: ld.shared.u32 %r9, [%r8] (PTX line 78)
KERNEL(copy_no_wait) {
  __shared__ int s[64];
  copy(&s[I], &c[I]);
  __syncthreads();
  a[I] = s[63 - I];
}
KERNEL(copy_no_wait_fixed) {
  __shared__ int s[64];
  copy(&s[I], &c[I]);
  wait_all();
  __syncthreads();
  a[I] = s[63 - I];
}

// copy_own: even what the thread itself copied is there only after a wait.
// launch 1 32
// > race: read, unordered with a copy that was not waited for in kernel copy_own at async.cu:75
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at async.cu:11 (inlined at async.cu:73) by block (0, 0, 0), thread (0, 0, 0)
// >   inside s (128 bytes), byte 0
// >   instruction: ld.shared.u32 %r5, [%r1] (PTX line 176)
KERNEL(copy_own) {
  __shared__ int s[32];
  copy(&s[I], &c[I]);
  commit();
  a[I] = s[I];
}
KERNEL(copy_own_fixed) {
  __shared__ int s[32];
  copy(&s[I], &c[I]);
  commit();
  wait_all();
  a[I] = s[I];
}

// copy_no_barrier: each thread waits for its own copies only.
// launch 1 64
// > read of 4 bytes that were never written in kernel copy_no_barrier at async.cu:100
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside s (256 bytes), byte 252
// >   instruction: ld.shared.u32 %r9, [%r8] (PTX line 277)
// > race: write, unordered with another access in kernel copy_no_barrier at async.cu:11 (inlined at async.cu:98)
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: read at async.cu:100 by block (0, 0, 0), thread (31, 0, 0)
// >   inside s (256 bytes), byte 128
// >   instruction: cp.async.ca.shared.global [%r1], [%rd1], 4 (PTX line 265)
KERNEL(copy_no_barrier) {
  __shared__ int s[64];
  copy(&s[I], &c[I]);
  wait_all();
  a[I] = s[63 - I];
}
KERNEL(copy_no_barrier_fixed) {
  __shared__ int s[64];
  copy(&s[I], &c[I]);
  wait_all();
  a[I] = s[I];
}

// copy_last_group: a pipeline that waits for all groups but the last reads the last one.
// launch 1 64
// > race: read, unordered with a copy that was not waited for in kernel copy_last_group at async.cu:124
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: write at async.cu:11 (inlined at async.cu:120) by block (0, 0, 0), thread (31, 0, 0)
// >   inside s (512 bytes), byte 380
// >   instruction: ld.shared.u32 %r11, [%r10] (PTX line 397)
KERNEL(copy_last_group) {
  __shared__ int s[2][64];
  copy(&s[0][I], &c[I]);
  commit();
  copy(&s[1][I], &c[I + 64]);
  commit();
  wait_but_one();
  __syncthreads();
  a[I] = s[1][63 - I];
}
KERNEL(copy_last_group_fixed) {
  __shared__ int s[2][64];
  copy(&s[0][I], &c[I]);
  commit();
  copy(&s[1][I], &c[I + 64]);
  commit();
  wait_but_one();
  __syncthreads();
  a[I] = s[0][63 - I];
  wait_all();
  __syncthreads();
  a[I + 64] = s[1][63 - I];
}

// copy_over: the next stage is copied over what others still read.
// launch 1 64
// > race: read, unordered with another access in kernel copy_over at async.cu:155
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: write at async.cu:11 (inlined at async.cu:152) by block (0, 0, 0), thread (63, 0, 0)
// >   inside s (256 bytes), byte 252
// >   instruction: ld.shared.u32 %r16, [%r2] (PTX line 536)
KERNEL(copy_over) {
  __shared__ int s[64];
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 3; k++) {
    copy(&s[I], &c[k * 64 + I]);
    wait_all();
    __syncthreads();
    sum += s[63 - I];
  }
  a[I] = sum;
}
KERNEL(copy_over_fixed) {
  __shared__ int s[64];
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 3; k++) {
    copy(&s[I], &c[k * 64 + I]);
    wait_all();
    __syncthreads();
    sum += s[63 - I];
    __syncthreads();
  }
  a[I] = sum;
}

// copy_arrive: nobody waits for the barrier that the copies arrive at.
// launch 1 64
// > read of 4 bytes that were never written in kernel copy_arrive at async.cu:193
// >   block (0, 0, 0), thread (32, 0, 0)
// >   inside s (256 bytes), byte 0
// >   instruction: ld.shared.u32 %r7, [%r6+-128] (PTX line 694)
// > race: write, unordered with another access in kernel copy_arrive at async.cu:11 (inlined at async.cu:190)
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: read at async.cu:193 by block (0, 0, 0), thread (32, 0, 0)
// >   inside s (256 bytes), byte 0
// >   instruction: cp.async.ca.shared.global [%r8], [%rd6], 4 (PTX line 679)
KERNEL(copy_arrive) {
  __shared__ int s[64];
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 32);
  __syncthreads();
  if (I < 32) {
    copy(&s[I], &c[I]);
    arrive_after_copies(&bar);
  } else {
    a[I] = s[I - 32];
  }
}
KERNEL(copy_arrive_fixed) {
  __shared__ int s[64];
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 32);
  __syncthreads();
  if (I < 32) {
    copy(&s[I], &c[I]);
    arrive_after_copies(&bar);
  } else {
    while (!is_done(&bar, 0)) {
    }
    a[I] = s[I - 32];
  }
}

// arrive_no_wait: the consumer arrives like the others and goes on at once.
// launch 1 64
// > read of 4 bytes that were never written in kernel arrive_no_wait at async.cu:229
// >   block (0, 0, 0), thread (32, 0, 0)
// >   inside s (256 bytes), byte 124
// >   instruction: ld.shared.u32 %r12, [%r11] (PTX line 853)
// > race: write, unordered with another access in kernel arrive_no_wait at async.cu:227
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: read at async.cu:229 by block (0, 0, 0), thread (63, 0, 0)
// >   inside s (256 bytes), byte 0
// >   instruction: st.shared.u32 [%r7], %r1 (PTX line 841)
KERNEL(arrive_no_wait) {
  __shared__ int s[64];
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 64);
  __syncthreads();
  s[I] = I;
  arrive(&bar);
  a[I] = s[63 - I];
}
KERNEL(arrive_no_wait_fixed) {
  __shared__ int s[64];
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 64);
  __syncthreads();
  s[I] = I;
  arrive(&bar);
  while (!is_done(&bar, 0)) {
  }
  a[I] = s[63 - I];
}

// next_phase: what is written for the second phase is read after the first.
// launch 1 64
// > race: read, unordered with another access in kernel next_phase at async.cu:263
// >   block (0, 0, 0), thread (48, 0, 0)
// >   the other: write at async.cu:258 by block (0, 0, 0), thread (0, 0, 0)
// >   inside s (256 bytes), byte 128
// >   instruction: ld.shared.u32 %r10, [%r2+-64] (PTX line 1022)
KERNEL(next_phase) {
  __shared__ int s[64];
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 32);
  __syncthreads();
  if (I < 32) {
    s[I] = I;
    arrive(&bar);
    s[I + 32] = I;
    if (I < 16) arrive(&bar);
  } else {
    while (!is_done(&bar, 0)) {
    }
    a[I] = s[I - 32] + s[I - 16];
  }
}
KERNEL(next_phase_fixed) {
  __shared__ int s[64];
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 32);
  __syncthreads();
  if (I < 32) {
    s[I] = I;
    arrive(&bar);
    s[I + 32] = I;
    if (I < 16) arrive(&bar);
  } else {
    while (!is_done(&bar, 0)) {
    }
    a[I] = s[I - 32] + s[I ^ 63];
  }
}

// init_race: the barrier is used before it is known to be set up.
// launch 1 64
// > race: read, unordered with another access in kernel init_race at async.cu:38 (inlined at async.cu:295)
// >   block (0, 0, 0), thread (32, 0, 0)
// >   the other: write at async.cu:24 (inlined at async.cu:292) by block (0, 0, 0), thread (0, 0, 0)
// >   inside bar (8 bytes), byte 0
// >   instruction: mbarrier.test_wait.parity.shared.b64 p, [%r9], %r10 (PTX line 1188)
KERNEL(init_race) {
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 64);
  __syncwarp();
  if (I < 32) arrive(&bar);
  a[I] = I >= 32 && is_done(&bar, 0);
}
KERNEL(init_race_fixed) {
  __shared__ u64 bar;
  if (I == 0) set_up(&bar, 64);
  __syncthreads();
  arrive(&bar);
  a[I] = is_done(&bar, 0);
}
