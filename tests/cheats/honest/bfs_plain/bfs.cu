extern "C" __global__ void begin(int* depth, int* control, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) depth[v] = v ? -1 : 0;
  if (v == 0) control[0] = control[1] = 0;
}

// control: the level, and whether it gave any vertex a depth.
extern "C" __global__ void level(const int* first, const int* neighbour, int* depth, int* control,
                                 int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x, now = control[0];
  if (v >= n || depth[v] != now) return;
  for (int e = first[v]; e < first[v + 1]; e++) {
    int w = neighbour[e];
    if (depth[w] >= 0) continue;
    depth[w] = now + 1;
    control[1] = 1;
  }
}

extern "C" __global__ void next_level(int* control, int* done) {
  *done = !control[1];
  control[0]++;
  control[1] = 0;
}
