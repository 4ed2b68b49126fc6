// Threads that do not meet, or meet wrongly. See README.md.
#include "zoo.h"

// divergent_barrier: both sides of a branch have a barrier of their own.
// launch 1 32
// > barrier in divergent code: lanes 0xffff0000 wait here, 0x0000ffff of the same warp at line 12 in kernel divergent_barrier at sync.cu:15
// >   block (0, 0, 0), thread (16, 0, 0)
// >   instruction: bar.sync 0 (PTX line 57)
KERNEL(divergent_barrier) {
  if (I < 16) {
    a[I] = 1;
    asm volatile("bar.sync 0; // one" ::: "memory");
  } else {
    a[I + 64] = 2;
    asm volatile("bar.sync 0; // other" ::: "memory");
  }
}
KERNEL(divergent_barrier_fixed) {
  if (I < 16)
    a[I] = 1;
  else
    a[I + 64] = 2;
  asm volatile("bar.sync 0; // both" ::: "memory");
}

// half_barrier: a counted barrier that half of a warp reaches.
// launch 1 64
// > barrier in divergent code: lanes 0xffff0000 of the warp wait, 0x0000ffff have not arrived in kernel half_barrier at sync.cu:32
// >   block (0, 0, 0), thread (48, 0, 0)
// >   instruction: bar.sync 1, 32 (PTX line 125)
KERNEL(half_barrier) {
  if (I < 16 || I >= 48) asm volatile("bar.sync 1, 32;" ::: "memory");
  a[I] = 1;
}
KERNEL(half_barrier_fixed) {
  if (I < 32) asm volatile("bar.sync 1, 32;" ::: "memory");
  a[I] = 1;
}

// two_barriers: each warp waits at another barrier for the whole block.
// launch 1 64
// > deadlock: no thread can go on in kernel two_barriers, block (0, 0, 0)
// >   warp 0, 32 lanes (mask 0xffffffff): waits at a barrier at sync.cu:49
// >   warp 1, 32 lanes (mask 0xffffffff): waits at a barrier at sync.cu:51
// >   barrier 1: 32 of 64 threads have come
// >   barrier 2: 32 of 64 threads have come
KERNEL(two_barriers) {
  if (I < 32)
    asm volatile("bar.sync 1, 64;" ::: "memory");
  else
    asm volatile("bar.sync 2, 64;" ::: "memory");
  a[I] = 1;
}
KERNEL(two_barriers_fixed) {
  if (I < 32)
    asm volatile("bar.sync 1, 64; // low" ::: "memory");
  else
    asm volatile("bar.sync 1, 64; // high" ::: "memory");
  a[I] = 1;
}

// too_many: a barrier that counts more threads than there are.
// launch 1 64
// > deadlock: no thread can go on in kernel too_many, block (0, 0, 0)
// >   warp 0, 32 lanes (mask 0xffffffff): waits at a barrier at sync.cu:69
// >   warp 1, 32 lanes (mask 0xffffffff): waits at a barrier at sync.cu:69
// >   barrier 1: 64 of 128 threads have come
KERNEL(too_many) {
  asm volatile("bar.sync 1, 128;" ::: "memory");
  a[I] = 1;
}
KERNEL(too_many_fixed) {
  asm volatile("bar.sync 1, 64;" ::: "memory");
  a[I] = 1;
}

// syncwarp_or_barrier: half of the warp waits for the other half, which waits for the block.
// launch 1 64
// > deadlock: no thread can go on in kernel syncwarp_or_barrier, block (0, 0, 0)
// >   warp 0, 16 lanes (mask 0x0000ffff): waits for lanes named in its member mask at sm_30_intrinsics.hpp:110 (inlined at sync.cu:87)
// >   warp 0, 16 lanes (mask 0xffff0000): waits at a barrier at sync.cu:85
// >   barrier 0: 16 of 32 threads have come
KERNEL(syncwarp_or_barrier) {
  if (I >= 16 && I < 32)
    asm volatile("barrier.sync 0;" ::: "memory");
  else if (I < 16)
    __syncwarp();
  a[I] = 1;
}
KERNEL(syncwarp_or_barrier_fixed) {
  if (I < 16) __syncwarp(0xffff);
  asm volatile("barrier.sync 0;" ::: "memory");
  a[I] = 1;
}

// shuffle_mask: the mask does not name the lanes that shuffle.
// launch 1 32
// > lane 16 takes part with a member mask, 0x0000ffff, that does not name it in kernel shuffle_mask at sm_30_intrinsics.hpp:409 (inlined at sync.cu:101)
// >   block (0, 0, 0), thread (16, 0, 0)
// >   instruction: shfl.sync.bfly.b32 %r6|%p1, %r2, %r4, %r3, %r5 (PTX line 448)
KERNEL(shuffle_mask) { a[I] = __shfl_xor_sync(0xffff, a[I], 1); }
KERNEL(shuffle_mask_fixed) {
  int v = a[I];
  if (I < 16) v = __shfl_xor_sync(0xffff, v, 1);
  a[I] = v;
}

// shuffle_inactive: lanes 16 to 31 take no part, and are read.
// launch 1 32
// > shuffle: lane 8 reads lane 16, which takes no part in kernel shuffle_inactive at sm_30_intrinsics.hpp:397 (inlined at sync.cu:114)
// >   block (0, 0, 0), thread (8, 0, 0)
// >   instruction: shfl.sync.down.b32 %r6|%p2, %r2, %r4, %r3, %r5 (PTX line 524)
KERNEL(shuffle_inactive) {
  if (I < 16) a[I] = __shfl_down_sync(0xffff, a[I], 8);
}
KERNEL(shuffle_inactive_fixed) {
  if (I < 16) a[I] = __shfl_down_sync(0xffff, a[I], 8, 16);
}

// shuffle_exited: half of the warp is gone.
// launch 1 48
// > shuffle: lane 0 reads lane 16, which takes no part in kernel shuffle_exited at sm_30_intrinsics.hpp:409 (inlined at sync.cu:125)
// >   block (0, 0, 0), thread (32, 0, 0)
// >   instruction: shfl.sync.bfly.b32 %r6|%p1, %r2, %r4, %r3, %r5 (PTX line 599)
KERNEL(shuffle_exited) { a[I] = __shfl_xor_sync(0xffffffff, a[I], 16); }
KERNEL(shuffle_exited_fixed) { a[I] = __shfl_xor_sync(0xffffffff, a[I], 8); }

// vote_mask: a vote with a mask that does not name the lane.
// launch 1 32
// > lane 0 takes part with a member mask, 0xfffffffe, that does not name it in kernel vote_mask at sm_30_intrinsics.hpp:134 (inlined at sync.cu:133)
// >   block (0, 0, 0), thread (0, 0, 0)
// >   instruction: vote.sync.ballot.b32 %r4, %p1, %r3 (PTX line 664)
KERNEL(vote_mask) { a[I] = (int)__ballot_sync(0xfffffffe, a[I] == 0); }
KERNEL(vote_mask_fixed) { a[I] = (int)__ballot_sync(0xffffffff, a[I] == 0); }

// match_mask: the same with match.
// launch 1 32
// > lane 31 takes part with a member mask, 0x7fffffff, that does not name it in kernel match_mask at sm_70_rt.hpp:98 (inlined at sync.cu:141)
// >   block (0, 0, 0), thread (31, 0, 0)
// >   instruction: match.any.sync.b32 %r4, %r2, %r3 (PTX line 726)
KERNEL(match_mask) { a[I] = (int)__match_any_sync(0x7fffffff, a[I]); }
KERNEL(match_mask_fixed) { a[I] = (int)__match_any_sync(0xffffffff, a[I]); }

// waits_for_ever: a lane spins on what comes behind a barrier that it must reach.
// launch 1 64
// > time limit reached in kernel waits_for_ever, block (0, 0, 0)
// >   warp 0, 32 lanes (mask 0xffffffff): waits at a barrier at sync.cu:156
// >   warp 1, 1 lanes (mask 0x80000000): spins at sync.cu:152
// >   warp 1, 31 lanes (mask 0x7fffffff): waits at a barrier at sync.cu:156
// >   barrier 0: 63 of 64 threads have come
KERNEL(waits_for_ever) {
  if (I == 63) {
    while (*(volatile int *)&a[64] == 0) {
    }
  }
  __syncthreads();
  if (I == 0) *(volatile int *)&a[64] = 1;
}
KERNEL(waits_for_ever_fixed) {
  if (I == 0) *(volatile int *)&a[64] = 1;
  if (I == 63) {
    while (*(volatile int *)&a[64] == 0) {
    }
  }
  __syncthreads();
}

// endless: a loop without end.
// launch 1 32
// > time limit reached in kernel endless, block (0, 0, 0)
// >   ...
KERNEL(endless) {
  for (int i = n;; i = i * 5 + 1) {
    if (i == 2) break;
    a[I] = i;
  }
}
KERNEL(endless_fixed) {
  for (int i = n; i > 0; i--) a[I] = i;
}

// trapped: the kernel stops itself.
// launch 1 32
// > the kernel executed a trap in kernel trapped at sync.cu:188
// >   block (0, 0, 0), thread (7, 0, 0)
// >   instruction: trap (PTX line 984)
KERNEL(trapped) {
  if (I == 7 && n == 64) asm volatile("trap;");
  a[I] = 1;
}
KERNEL(trapped_fixed) {
  if (I == 7 && n != 64) asm volatile("trap;");
  a[I] = 1;
}
