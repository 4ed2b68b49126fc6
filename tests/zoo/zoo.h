// Every kernel takes the same arguments: a, 256 words of 0; b, 256 words never written; c, 256 words
// of 0 that are read-only; gone, an allocation that was freed; n = 64.
#define KERNEL(name) extern "C" __global__ void name(int *a, int *b, int *c, int *gone, int n)
#define I ((int)threadIdx.x)
#define ID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
