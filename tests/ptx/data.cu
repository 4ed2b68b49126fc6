// Initial values: every kind of number, pointers into variables, strings, packed structs.
__device__ int table[4][3] = {{1, 2, 3}, {4, 5}};
__constant__ float weights[4] = {1.f, 2.f, -3.5f};
__device__ double scale = 3.25;
__device__ int *middle = &table[1][1];
__device__ char text[] = "hello\n";
__device__ char *tail = text + 3;
__device__ __managed__ long long big = -5000000000;
struct record {
  char tag;
  int number;
  double value;
  const char *name;
};
__device__ record one = {1, 2, 3.0, text};
struct __attribute__((packed)) tight {
  char tag;
  const char *name;
  short number;
};
__device__ tight pair[2] = {{1, text + 1, 2}, {3, text, 4}};
extern __shared__ float scratch[];

extern "C" __global__ void data(int *x, double *y) {
  scratch[threadIdx.x] = weights[threadIdx.x & 3];
  __syncthreads();
  x[0] = table[x[1]][x[2]] + *middle + tail[x[3]] + (int)big + pair[x[4]].name[0];
  y[0] = one.value * scale + scratch[x[5]] + one.name[1];
}
