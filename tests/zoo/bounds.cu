// Accesses outside of what there is. See README.md.
#include "zoo.h"

// past_end: one word past the end of a.
// launch 1 64
// > write of 4 bytes out of bounds in kernel past_end at bounds.cu:10
// >   block (0, 0, 0), thread (63, 0, 0)
// >   0 bytes past the end of a (1024 bytes)
// >   instruction: st.global.u32 [%rd4], %r3 (PTX line 38)
KERNEL(past_end) { a[I + 193] = 1; }
KERNEL(past_end_fixed) { a[I + 192] = 1; }

// past_end_byte: one byte past the end of a.
// launch 1 1
// > write of 1 bytes out of bounds in kernel past_end_byte at bounds.cu:19
// >   block (0, 0, 0), thread (0, 0, 0)
// >   0 bytes past the end of a (1024 bytes)
// >   instruction: st.global.u8 [%rd4], %rs1 (PTX line 91)
KERNEL(past_end_byte) { ((char *)a)[n * 16] = 1; }
KERNEL(past_end_byte_fixed) { ((char *)a)[n * 16 - 1] = 1; }

// before_start: one word before the start of a.
// launch 1 64
// > read of 4 bytes out of bounds in kernel before_start at bounds.cu:28
// >   block (0, 0, 0), thread (0, 0, 0)
// >   4 bytes before the start of a (1024 bytes)
// >   instruction: ld.global.u32 %r3, [%rd4] (PTX line 144)
KERNEL(before_start) { a[I + 64] = a[I - 1]; }
KERNEL(before_start_fixed) { a[I + 64] = I > 0 ? a[I - 1] : 0; }

// vector_past_end: the second half of a vector lies past the end.
// launch 1 1
// > write of 16 bytes out of bounds in kernel vector_past_end at bounds.cu:37
// >   block (0, 0, 0), thread (0, 0, 0)
// >   0 bytes past the end of a (1024 bytes)
// >   instruction: st.global.v4.u32 [%rd4], {%r5, %r4, %r3, %r2} (PTX line 206)
KERNEL(vector_past_end) { ((int4 *)a)[n] = make_int4(1, 2, 3, 4); }
KERNEL(vector_past_end_fixed) { ((int4 *)a)[n - 1] = make_int4(1, 2, 3, 4); }

// shared_past_end: one word past the end of a shared array.
// launch 1 64
// > write of 4 bytes out of bounds in kernel shared_past_end at bounds.cu:48
// >   block (0, 0, 0), thread (63, 0, 0)
// >   0 bytes past the end of s (256 bytes)
// >   instruction: st.shared.u32 [%r5+4], %r2 (PTX line 264)
KERNEL(shared_past_end) {
  __shared__ int s[64];
  s[I + 1] = a[I];
  __syncthreads();
  a[I] = s[63 - I];
}
KERNEL(shared_past_end_fixed) {
  __shared__ int s[65];
  s[I + 1] = a[I];
  __syncthreads();
  a[I] = s[64 - I];
}

// local_past_end: one word past the end of a thread's own array.
// launch 1 1
// > write of 4 bytes out of bounds in kernel local_past_end at bounds.cu:68
// >   block (0, 0, 0), thread (0, 0, 0)
// >   0 bytes past the end of local memory (32 bytes)
// >   instruction: st.local.u32 [%rd6], %r2 (PTX line 358)
KERNEL(local_past_end) {
  int mine[8];
  for (int i = 0; i < 8; i++) mine[i] = a[i];
  mine[n / 8] = 1;
  a[0] = mine[a[1] & 7];
}
KERNEL(local_past_end_fixed) {
  int mine[8];
  for (int i = 0; i < 8; i++) mine[i] = a[i];
  mine[n / 8 - 1] = 1;
  a[0] = mine[a[1] & 7];
}

// null_pointer: a pointer that was never set.
// launch 1 1
// > write of 4 bytes out of bounds in kernel null_pointer at bounds.cu:86
// >   block (0, 0, 0), thread (0, 0, 0)
// >   a null pointer
// >   instruction: st.u32 [%rd1+-64], %r1 (PTX line 441)
KERNEL(null_pointer) {
  int *p = (int *)(long long)(n - 64);
  *p = 1;
}
KERNEL(null_pointer_fixed) {
  int *p = a + (n - 64);
  *p = 1;
}

// misaligned_vector: a vector load from a word's address.
// launch 1 1
// > address is not a multiple of 16 in kernel misaligned_vector at bounds.cu:100
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 4
// >   instruction: ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2+4] (PTX line 491)
KERNEL(misaligned_vector) {
  int4 v = *(int4 *)(a + 1);
  a[0] = v.x + v.w;
}
KERNEL(misaligned_vector_fixed) {
  int4 v = *(int4 *)(a + 4);
  a[0] = v.x + v.w;
}

// misaligned_word: a word load from an odd address.
// launch 1 1
// > address is not a multiple of 4 in kernel misaligned_word at bounds.cu:114
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside a (1024 bytes), byte 2
// >   instruction: ld.global.u32 %r1, [%rd2+2] (PTX line 541)
KERNEL(misaligned_word) { a[0] = *(int *)((char *)a + 2); }
KERNEL(misaligned_word_fixed) { a[0] = *(short *)((char *)a + 2); }

// read_only: a write to an input.
// launch 1 64
// > write to a read-only buffer in kernel read_only at bounds.cu:123
// >   block (0, 0, 0), thread (0, 0, 0)
// >   inside c (1024 bytes), byte 0
// >   instruction: st.global.u32 [%rd4], %r2 (PTX line 589)
KERNEL(read_only) { c[I] = 1; }
KERNEL(read_only_fixed) { a[I] = c[I] + 1; }

// use_after_free: a read of memory that the host has freed.
// launch 1 64
// > read of 4 bytes out of bounds in kernel use_after_free at bounds.cu:133
// >   block (0, 0, 0), thread (0, 0, 0)
// >   1051648 bytes past the end of c (1024 bytes)
// >   inside a freed allocation of 1024 bytes
// >   instruction: ld.global.u32 %r2, [%rd6] (PTX line 644)
KERNEL(use_after_free) { a[I] = gone[I]; }
KERNEL(use_after_free_fixed) { a[I] = c[I]; }
