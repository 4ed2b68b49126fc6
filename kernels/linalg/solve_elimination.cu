// Gaussian elimination with partial pivoting (task linalg/solve), column by column. w is a with b
// right of it, on its way to a triangle and what is left of b.

extern "C" __global__ void solve_begin(const float* a, const float* b, float* w, int n, int m) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n + m) return;
  w[(size_t)row * (n + m) + column] =
      column < n ? a[(size_t)row * n + column] : b[(size_t)row * m + column - n];
}

// One block: the row with the largest element in column j comes to row j; factor[i] is what row i
// below it will lose.
extern "C" __global__ void solve_pivot(float* w, float* factor, int n, int m, int j) {
  __shared__ float largest[256];
  __shared__ int where[256];
  int t = threadIdx.x, stride = n + m;
  float best = -1;
  int at = j;
  for (int i = j + t; i < n; i += 256) {
    float size = fabsf(w[(size_t)i * stride + j]);
    if (size > best) best = size, at = i;
  }
  largest[t] = best;
  where[t] = at;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half && largest[t + half] > largest[t]) {
      largest[t] = largest[t + half];
      where[t] = where[t + half];
    }
    __syncthreads();
  }
  float *here = w + (size_t)j * stride, *pivot = w + (size_t)where[0] * stride;
  for (int c = j + t; c < stride && pivot != here; c += 256) {
    float value = here[c];
    here[c] = pivot[c];
    pivot[c] = value;
  }
  __syncthreads();
  float diagonal = here[j];
  for (int i = j + 1 + t; i < n; i += 256) factor[i] = w[(size_t)i * stride + j] / diagonal;
}

// A block row for each row below j.
extern "C" __global__ void solve_eliminate(float* w, const float* factor, int n, int m, int j) {
  int column = j + 1 + blockIdx.x * blockDim.x + threadIdx.x, row = j + 1 + blockIdx.y;
  if (column >= n + m) return;
  w[(size_t)row * (n + m) + column] -= factor[row] * w[(size_t)j * (n + m) + column];
}

// A block a right-hand side: x from its last row on; each takes its part from the rows above.
extern "C" __global__ void solve_back(float* w, float* x, int n, int m) {
  size_t stride = n + m;
  float* c = w + n + blockIdx.x;
  for (int i = n - 1; i >= 0; i--) {
    float value = c[i * stride] / w[i * stride + i];
    if (threadIdx.x == 0) x[(size_t)i * m + blockIdx.x] = value;
    for (int row = threadIdx.x; row < i; row += blockDim.x)
      c[row * stride] -= w[row * stride + i] * value;
    __syncthreads();
  }
}
