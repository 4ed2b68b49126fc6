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

// Row i of x, and what it takes from the rows above.
extern "C" __global__ void solve_back(float* w, float* x, int n, int m, int i) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= m || row > i) return;
  size_t stride = n + m;
  float value = w[i * stride + n + column] / w[i * stride + i];
  if (row == i) x[(size_t)i * m + column] = value;
  else w[row * stride + n + column] -= w[row * stride + i] * value;
}
