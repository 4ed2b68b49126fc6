// Elements of 4 or 2 bytes as float, and 16 bytes of them at a time: float, f16 and bf16 without
// the toolkit's headers, which a machine with nothing but NVRTC may lack.
#pragma once

struct f16 {
  unsigned short bits;
};

struct bf16 {
  unsigned short bits;
};

__device__ inline float load(const float& x) {
  return x;
}

__device__ inline float load(const f16& x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}

__device__ inline float load(const bf16& x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

__device__ inline void store(float& y, float value) {
  y = value;
}

__device__ inline void store(f16& y, float value) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(value));
}

__device__ inline void store(bf16& y, float value) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(value));
}

// The elements in one 32-bit word: one float, or two of 2 bytes, the lower first.
__device__ inline void map_word(unsigned& word, float (*f)(float), float) {
  word = __float_as_uint(f(__uint_as_float(word)));
}

__device__ inline void map_word(unsigned& word, float (*f)(float), f16) {
  float low, high;
  asm("{ .reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
      : "=f"(low), "=f"(high)
      : "r"(word));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(f(high)), "f"(f(low)));
}

__device__ inline void map_word(unsigned& word, float (*f)(float), bf16) {
  float low = __uint_as_float(word << 16), high = __uint_as_float(word & 0xffff0000u);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(f(high)), "f"(f(low)));
}
