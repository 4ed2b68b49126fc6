// Activation functions (tasks vector/relu_f32 ... vector/hardswish_bf16): one element a thread, in
// float with the accurate functions of the CUDA library.
#include "element.cuh"

__device__ inline float relu(float x) {
  return fmaxf(x, 0.0f);
}

__device__ inline float leaky_relu(float x) {
  return x > 0 ? x : 0.01f * x;
}

__device__ inline float elu(float x) {
  return x > 0 ? x : expm1f(x);
}

__device__ inline float selu(float x) {
  return 1.05070098735548049f * (x > 0 ? x : 1.67326324235437728f * expm1f(x));
}

__device__ inline float gelu(float x) {
  return 0.5f * x * (1 + erff(0.707106781186547524f * x));
}

__device__ inline float gelu_tanh(float x) {
  return 0.5f * x * (1 + tanhf(0.797884560802865356f * (x + 0.044715f * x * x * x)));
}

__device__ inline float silu(float x) {
  return x / (1 + expf(-x));
}

__device__ inline float softplus(float x) {
  return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

__device__ inline float mish(float x) {
  return x * tanhf(softplus(x));
}

__device__ inline float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

__device__ inline float hyperbolic_tangent(float x) {
  return tanhf(x);
}

__device__ inline float hardswish(float x) {
  return x * fminf(fmaxf(x + 3, 0.0f), 6.0f) / 6;
}

#define KERNEL(name, function, type, T)                                                         \
  extern "C" __global__ void name##_##type(const T* __restrict__ x, T* __restrict__ y, int n) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                              \
    if (i < n) store(y[i], function(load(x[i])));                                               \
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
