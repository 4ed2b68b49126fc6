// Blocks that race: fences, atomics and their scopes. See README.md.
#include "zoo.h"

// grid_same_word: one thread of each block writes the result.
// launch 2 32
// > race: write, unordered with another access in kernel grid_same_word at grid.cu:12
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:12 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: st.global.u32 [%rd2], %r2 (PTX line 39)
KERNEL(grid_same_word) {
  if (I == 0) a[0] = (int)blockIdx.x;
}
KERNEL(grid_same_word_fixed) {
  if (I == 0) a[blockIdx.x] = (int)blockIdx.x;
}

// grid_in_place: a stencil in place; the neighbour block's first word is read and written.
// launch 2 32
// > race: write, unordered with another access in kernel grid_in_place at grid.cu:28
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: read at grid.cu:26 by block (0, 0, 0), thread (31, 0, 0)
// >   inside a (1024 bytes), byte 128
// >   instruction: st.global.u32 [%rd4], %r5 (PTX line 105)
KERNEL(grid_in_place) {
  int next = a[ID + 1];
  __syncthreads();
  a[ID] = next;
}
KERNEL(grid_in_place_fixed) { a[ID + 128] = a[ID + 1]; }

// grid_no_barrier: a block reads what another computes in the same launch.
// launch 2 32
// > race: write, unordered with another access in kernel grid_no_barrier at grid.cu:40
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: read at grid.cu:42 by block (0, 0, 0), thread (31, 0, 0)
// >   inside a (1024 bytes), byte 128
// >   instruction: st.global.u32 [%rd4], %r4 (PTX line 161)
KERNEL(grid_no_barrier) {
  a[ID] = ID;
  __syncthreads();
  a[ID + 64] = a[63 - ID];
}
KERNEL(grid_no_barrier_fixed) {
  a[ID] = ID;
  __syncthreads();
  a[ID + 64] = a[ID ^ 31];
}

// grid_init: block 0 sets the counter that the others already use.
// launch 2 32
// > race: atomic, unordered with another access in kernel grid_init at device_atomic_functions.hpp:107 (inlined at grid.cu:60)
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:58 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: atom.global.add.u32 %r7, [%rd1], 1 (PTX line 244)
KERNEL(grid_init) {
  if (ID == 0) a[0] = 0;
  __syncthreads();
  atomicAdd(&a[0], 1);
}
KERNEL(grid_init_fixed) { atomicAdd(&a[0], 1); }

// publish_no_fence: the flag may be seen before the data.
// launch 2 1
// > race: read, unordered with another access in kernel publish_no_fence at grid.cu:79
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:73 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r3, [%rd1] (PTX line 308)
KERNEL(publish_no_fence) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    atomicExch(&a[64], 1);
  } else {
    while (atomicAdd(&a[64], 0) == 0) {
    }
    __threadfence();
    a[1] = a[0];
  }
}
KERNEL(publish_no_fence_fixed) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
    atomicExch(&a[64], 1);
  } else {
    while (atomicAdd(&a[64], 0) == 0) {
    }
    __threadfence();
    a[1] = a[0];
  }
}

// consume_no_fence: the data may be read before the flag.
// launch 2 1
// > race: read, unordered with another access in kernel consume_no_fence at grid.cu:110
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:104 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r3, [%rd1] (PTX line 413)
KERNEL(consume_no_fence) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
    *(volatile int *)&a[64] = 1;
  } else {
    while (*(volatile int *)&a[64] == 0) {
    }
    a[1] = a[0];
  }
}
KERNEL(consume_no_fence_fixed) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
    *(volatile int *)&a[64] = 1;
  } else {
    while (*(volatile int *)&a[64] == 0) {
    }
    __threadfence();
    a[1] = a[0];
  }
}

// publish_plain_flag: the flag itself is a plain store.
// launch 2 1
// > race: read, unordered with another access in kernel publish_plain_flag at grid.cu:139
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:137 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 256
// >   instruction: ld.volatile.global.u32 %r2, [%rd1+256] (PTX line 506)
KERNEL(publish_plain_flag) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
    a[64] = 1;
  } else {
    while (*(volatile int *)&a[64] == 0) {
    }
    __threadfence();
    a[1] = 1;
  }
}
KERNEL(publish_plain_flag_fixed) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    asm volatile("st.release.gpu.s32 [%0], 1;" ::"l"(a + 64) : "memory");
  } else {
    int seen;
    do {
      asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(a + 64) : "memory");
    } while (seen == 0);
    a[1] = a[0];
  }
}

// publish_block_fence: __threadfence_block where the reader is in another block.
// launch 2 1
// > race: read, unordered with another access in kernel publish_block_fence at grid.cu:174
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:167 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r3, [%rd1] (PTX line 622)
KERNEL(publish_block_fence) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence_block();
    atomicExch(&a[64], 1);
  } else {
    while (atomicAdd(&a[64], 0) == 0) {
    }
    __threadfence();
    a[1] = a[0];
  }
}
KERNEL(publish_block_fence_fixed) {
  if (I == 0) {
    if (blockIdx.x == 0) a[0] = 42;
    __threadfence();
    atomicExch(&a[64 + blockIdx.x], 1);
  }
}

// publish_before_barrier: thread 0 publishes for the block, which has not met.
// launch 2 32
// > race: read, unordered with another access in kernel publish_before_barrier at grid.cu:201
// >   block (1, 0, 0), thread (1, 0, 0)
// >   the other: write at grid.cu:194 by block (0, 0, 0), thread (1, 0, 0)
// >   inside a (1024 bytes), byte 4
// >   instruction: ld.global.u32 %r4, [%rd5] (PTX line 728)
KERNEL(publish_before_barrier) {
  if (blockIdx.x == 0) {
    a[I] = I;
    __threadfence();
    if (I == 0) atomicExch(&a[64], 1);
  } else {
    while (atomicAdd(&a[64], 0) == 0) {
    }
    __threadfence();
    a[I + 128] = a[I];
  }
}
KERNEL(publish_before_barrier_fixed) {
  if (blockIdx.x == 0) {
    a[I] = I;
    __threadfence();
    __syncthreads();
    if (I == 0) atomicExch(&a[64], 1);
  } else {
    while (atomicAdd(&a[64], 0) == 0) {
    }
    __threadfence();
    a[I + 128] = a[I];
  }
}

// lock_no_fence: the lock orders nothing.
// launch 2 1
// > race: read, unordered with another access in kernel lock_no_fence at grid.cu:233
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:233 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r4, [%rd1] (PTX line 852)
// > race: write, unordered with another access in kernel lock_no_fence at grid.cu:233
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:233 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: st.global.u32 [%rd1], %r5 (PTX line 854)
KERNEL(lock_no_fence) {
  while (atomicCAS(&a[64], 0, 1) != 0) {
  }
  a[0] += 1;
  atomicExch(&a[64], 0);
}
KERNEL(lock_no_fence_fixed) {
  while (atomicCAS(&a[64], 0, 1) != 0) {
  }
  __threadfence();
  a[0] += 1;
  __threadfence();
  atomicExch(&a[64], 0);
}

// last_block_no_fence: the last block sums what the others wrote without a fence.
// launch 4 32
// > race: read, unordered with another access in kernel last_block_no_fence at grid.cu:269
// >   block (3, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:264 by block (1, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 4
// >   instruction: ld.global.u32 %r5, [%rd1+4] (PTX line 954)
// > race: read, unordered with another access in kernel last_block_no_fence at grid.cu:269
// >   block (3, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:264 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r6, [%rd1] (PTX line 955)
// > race: read, unordered with another access in kernel last_block_no_fence at grid.cu:269
// >   block (3, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:264 by block (2, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 8
// >   instruction: ld.global.u32 %r8, [%rd1+8] (PTX line 957)
KERNEL(last_block_no_fence) {
  __shared__ int ticket;
  if (I == 0) a[blockIdx.x] = (int)blockIdx.x;
  if (I == 0) ticket = atomicAdd(&a[64], 1);
  __syncthreads();
  if (ticket == 3 && I == 0) {
    __threadfence();
    a[128] = a[0] + a[1] + a[2] + a[3];
  }
}
KERNEL(last_block_no_fence_fixed) {
  __shared__ int ticket;
  if (I == 0) a[blockIdx.x] = (int)blockIdx.x;
  __threadfence();
  if (I == 0) ticket = atomicAdd(&a[64], 1);
  __syncthreads();
  if (ticket == 3 && I == 0) {
    __threadfence();
    a[128] = a[0] + a[1] + a[2] + a[3];
  }
}

// scope_atomic: atomics that are atomic within the block only.
// launch 2 32
// > race: atomic, unordered with another access in kernel scope_atomic at sm_60_atomic_functions.hpp:300 (inlined at grid.cu:291)
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: atomic at sm_60_atomic_functions.hpp:300 (inlined at grid.cu:291) by block (0, 0, 0), thread (31, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: atom.global.cta.add.u32 %r1, [%rd2], 1 (PTX line 1053)
KERNEL(scope_atomic) { atomicAdd_block(&a[0], 1); }
KERNEL(scope_atomic_fixed) { atomicAdd_block(&a[blockIdx.x], 1); }

// weak_probe: a plain first look at what others change atomically; worth knowing, no verdict.
// launch 2 32
// > weak read: atomic, unordered with a plain read in kernel weak_probe at device_atomic_functions.hpp:202 (inlined at grid.cu:302)
// >   block (0, 0, 0), thread (0, 0, 0)
// >   the other: read at grid.cu:302 by block (0, 0, 0), thread (31, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: atom.global.cas.b32 %r8, [%rd1], %r7, %r6 (PTX line 1115)
KERNEL(weak_probe) {
  if (a[0] == 0) atomicCAS(&a[0], 0, ID + 1);
}
KERNEL(weak_probe_fixed) {
  if (*(volatile int *)a == 0) atomicCAS(&a[0], 0, ID + 1);
}

// two_causes: each cause is reported once, however often it shows.
// launch 2 32
// > read of 4 bytes that were never written in kernel two_causes at grid.cu:326
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside b (1024 bytes), byte 0
// >   instruction: ld.global.u32 %r5, [%rd7] (PTX line 1187)
// > race: write, unordered with another access in kernel two_causes at grid.cu:325
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:325 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 0
// >   instruction: st.global.u32 [%rd6], %r4 (PTX line 1184)
// > weak write: write, unordered with a write of the same value in kernel two_causes at grid.cu:326
// >   block (1, 0, 0), thread (0, 0, 0)
// >   the other: write at grid.cu:326 by block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 512
// >   instruction: st.global.u32 [%rd6+512], %r5 (PTX line 1188)
KERNEL(two_causes) {
  a[I] = ID;
  a[I + 128] = b[I];
}
KERNEL(two_causes_fixed) {
  a[ID] = ID;
  a[ID + 128] = c[ID];
}
