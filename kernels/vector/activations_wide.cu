// Activation functions (tasks vector/relu_f32 ... vector/hardswish_bf16) at the speed of memory:
// two 16-byte loads a thread before the first use, and functions of few instructions, two of which
// at most go to the special function unit. exp and the quotient are the approximate instructions;
// with the forms below their errors stay under 1e-6 of the largest of |y| and 1.
#include "element.cuh"

__device__ inline float relu(float x) {
  return fmaxf(x, 0.0f);
}

__device__ inline float leaky_relu(float x) {
  return fmaxf(x, 0.01f * x);
}

__device__ inline float elu(float x) {
  return x > 0 ? x : __expf(x) - 1;
}

__device__ inline float selu(float x) {
  const float scale = 1.05070098735548049f, scaled_alpha = scale * 1.67326324235437728f;
  return x > 0 ? scale * x : scaled_alpha * __expf(x) - scaled_alpha;
}

// max(x, 0) - |x| / 2 * erfc(|x| / sqrt 2), with erfc by Abramowitz and Stegun 7.1.26, whose error
// is under 1.5e-7. With t = 1 / (1 + c |x|), |x| t is (1 - t) / c, and finite for an infinite x.
__device__ inline float gelu(float x) {
  float a = fabsf(x);
  float t = __fdividef(1, 1 + 0.3275911f * 0.707106781186547524f * a);
  float poly = (((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t +
               0.254829592f;
  float half = 2.158504249f * (1 - t);  // |x| t / 2
  return fmaxf(x, 0.0f) - half * poly * __expf(-0.5f * a * a);
}

// x / 2 * (1 + tanh u) is x / (1 + exp(-2 u)).
__device__ inline float gelu_tanh(float x) {
  float u = 2 * 0.797884560802865356f * (x + 0.044715f * x * x * x);
  return __fdividef(x, 1 + __expf(-u));
}

__device__ inline float silu(float x) {
  return __fdividef(x, 1 + __expf(-x));
}

// tanh(log(1 + e)) is w / (w + 2) with w = e (e + 2); e = exp(20) already gives 1.
__device__ inline float mish(float x) {
  float e = __expf(fminf(x, 20.0f));
  float w = e * (e + 2);
  return x * __fdividef(w, w + 2);
}

__device__ inline float softplus(float x) {
  return fmaxf(x, 0.0f) + __logf(1 + __expf(-fabsf(x)));
}

__device__ inline float sigmoid(float x) {
  return __fdividef(1, 1 + __expf(-x));
}

__device__ inline float hyperbolic_tangent(float x) {
  return 1 - __fdividef(2, 1 + __expf(2 * x));
}

__device__ inline float hardswish(float x) {
  return x * __saturatef(x * (1 / 6.0f) + 0.5f);
}

constexpr int VECTORS = 2;  // 16-byte vectors a thread

template <class T>
__device__ inline void map_vector(uint4& v, float (*f)(float)) {
  map_word(v.x, f, T{});
  map_word(v.y, f, T{});
  map_word(v.z, f, T{});
  map_word(v.w, f, T{});
}

template <class T>
__device__ inline void map(const T* x, T* y, int n, float (*f)(float)) {
  constexpr int PER_VECTOR = 16 / sizeof(T);
  const uint4* from = reinterpret_cast<const uint4*>(x);
  uint4* to = reinterpret_cast<uint4*>(y);
  int vectors = n / PER_VECTOR, first = blockIdx.x * VECTORS * blockDim.x + threadIdx.x;
  uint4 v[VECTORS];
#pragma unroll
  for (int k = 0; k < VECTORS; k++)
    if (first + k * blockDim.x < vectors) v[k] = __ldcs(from + first + k * blockDim.x);
#pragma unroll
  for (int k = 0; k < VECTORS; k++) {
    if (first + k * blockDim.x >= vectors) break;
    map_vector<T>(v[k], f);
    __stcs(to + first + k * blockDim.x, v[k]);
  }
  int rest = vectors * PER_VECTOR + threadIdx.x;  // the last, incomplete vector
  if (blockIdx.x == 0 && rest < n) store(y[rest], f(load(x[rest])));
}

#define KERNEL(name, function, type, T)                                                         \
  extern "C" __global__ void name##_##type(const T* __restrict__ x, T* __restrict__ y, int n) { \
    map(x, y, n, function);                                                                     \
  }

#define KERNELS(name, function)      \
  KERNEL(name, function, f32, float) \
  KERNEL(name, function, f16, f16)   \
  KERNEL(name, function, bf16, bf16)

KERNELS(relu, relu)
KERNELS(leaky_relu, leaky_relu)
KERNELS(elu, elu)
KERNELS(selu, selu)
KERNELS(gelu, gelu)
KERNELS(gelu_tanh, gelu_tanh)
KERNELS(silu, silu)
KERNELS(mish, mish)
KERNELS(softplus, softplus)
KERNELS(sigmoid, sigmoid)
KERNELS(tanh, hyperbolic_tangent)
KERNELS(hardswish, hardswish)
