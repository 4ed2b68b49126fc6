// Breadth-first search (task graph/bfs) from a queue of the vertices of a level, in either
// direction (Beamer, Asanovic and Patterson, "Direction-optimizing breadth-first search", SC12):
// downwards, threads share the edges of the queue evenly, whatever the degrees; upwards, when the
// level is a large part of the graph, vertices without a depth look for a neighbour in it, and stop
// at the first.
//
// Each vertex in the queue has the number of edges before it. Both its place and that number come
// from one 64-bit atomic addition, so that the queue is a prefix sum as soon as it is written.

constexpr int THREADS = 256, CHUNK = 2048;  // CHUNK: edges that a block works on at a time
constexpr int ALPHA = 14, BETA = 64;  // upwards when the edges of the level exceed 1 / ALPHA of
                                      // those left, and its vertices 1 / BETA of all

struct Control {
  unsigned count, edges;    // of this level
  unsigned long long next;  // of the next: vertices << 32 | edges
  unsigned left;            // edges of vertices that had no depth before this level
  int level;
  unsigned ticket;
};

struct Graph {
  const int *first, *neighbour;
  int* depth;
  unsigned* queue;  // [2][2][n]: for even and odd levels, vertices and the edges before each
  int n;

  __device__ unsigned* vertices(int level) const {
    return queue + (level & 1) * 2 * (size_t)n;
  }
  __device__ unsigned* edges_before(int level) const {
    return vertices(level) + n;
  }
};

__device__ inline int depth_of(const Graph& g, int v) {
  return *const_cast<volatile int*>(g.depth + v);
}

// Where a vertex goes in the next level's queue, and how many edges come before its own.
struct Slot {
  unsigned place, before;
};

// Slots for the lanes that found a vertex of that degree. All lanes call it, one at least found.
__device__ inline Slot reserve(unsigned long long* next, unsigned lanes, unsigned degree) {
  unsigned lane = threadIdx.x % 32, sum = degree;
  for (int distance = 1; distance < 32; distance *= 2) {
    unsigned other = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += other;
  }
  unsigned long long at = 0;
  if (lane == 31) at = atomicAdd(next, static_cast<unsigned long long>(__popc(lanes)) << 32 | sum);
  at = __shfl_sync(~0u, at, 31);
  return {static_cast<unsigned>(at >> 32) + __popc(lanes & ((1u << lane) - 1)),
          static_cast<unsigned>(at) + sum - degree};
}

__device__ inline unsigned degree_of(const Graph& g, int v) {
  return g.first[v + 1] - g.first[v];
}

// The lanes that `found` put their vertices into the next level's queue. All lanes call it.
__device__ inline void append(const Graph& g, Control* control, int level, bool found, int v) {
  unsigned lanes = __ballot_sync(~0u, found);
  if (!lanes) return;
  Slot slot = reserve(&control->next, lanes, found ? degree_of(g, v) : 0);
  if (!found) return;
  g.vertices(level + 1)[slot.place] = v;
  g.edges_before(level + 1)[slot.place] = slot.before;
}

// The last place whose edges begin at or before `edge`: a warp tries 32 places at a time.
__device__ inline unsigned find_place(const unsigned* edges_before, unsigned count, unsigned edge) {
  unsigned low = 0, lane = threadIdx.x % 32;  // it is in low .. low + count - 1
  while (count > 1) {
    unsigned step = (count + 31) / 32, place = low + lane * step;
    bool before = lane * step < count && edges_before[place] <= edge;
    int last = 31 - __clz(__ballot_sync(~0u, before));  // lane 0 always is
    low += last * step;
    count = min(step, count - last * step);
  }
  return low;
}

// Vertices of a queue: the edges before each, and what takes the number of an edge of the level to
// its place among the neighbours.
struct Places {
  unsigned before[CHUNK], offset[CHUNK];

  __device__ int neighbour_of(const Graph& g, unsigned edge, unsigned count) const {
    unsigned low = 0;
    for (unsigned rest = count; rest > 1;) {
      unsigned half = rest / 2;
      if (before[low + half] <= edge) low += half, rest -= half;
      else rest = half;
    }
    return g.neighbour[edge + offset[low]];
  }
};

struct Chunk {
  unsigned first, last;  // places in the queue
  Places places;
};

// Edges begin .. end - 1 of the level: neighbours without a depth get one. All threads call it.
__device__ inline void expand(const Graph& g, Control* control, Chunk& chunk, int level,
                              unsigned count, unsigned begin, unsigned end) {
  const unsigned *before = g.edges_before(level), *vertices = g.vertices(level);
  if (threadIdx.x / 32 < 2) {
    unsigned place = find_place(before, count, threadIdx.x < 32 ? begin : end - 1);
    if (threadIdx.x % 32 == 0) (threadIdx.x < 32 ? chunk.first : chunk.last) = place;
  }
  __syncthreads();
  unsigned places = chunk.last - chunk.first + 1;
  for (unsigned i = threadIdx.x; i < places; i += blockDim.x) {
    unsigned at = chunk.first + i;
    chunk.places.before[i] = before[at];
    chunk.places.offset[i] = g.first[vertices[at]] - before[at];
  }
  __syncthreads();
  for (unsigned base = begin; base < end; base += blockDim.x) {
    unsigned edge = base + threadIdx.x;
    bool found = false;
    int v = 0;
    if (edge < end) {
      v = chunk.places.neighbour_of(g, edge, places);
      found = depth_of(g, v) < 0 && atomicCAS(g.depth + v, -1, level + 1) < 0;
    }
    append(g, control, level, found, v);
  }
  __syncthreads();
}

// Vertices without a depth look for a neighbour in the level.
__device__ inline void look_up(const Graph& g, Control* control, int level) {
  for (int base = blockIdx.x * THREADS; base < g.n; base += gridDim.x * THREADS) {
    int v = base + threadIdx.x;
    bool found = false;
    if (v < g.n && depth_of(g, v) < 0)
      for (int e = g.first[v]; e < g.first[v + 1] && !found; e++)
        found = depth_of(g, g.neighbour[e]) == level;
    if (found) *const_cast<volatile int*>(g.depth + v) = level + 1;
    append(g, control, level, found, v);
  }
}

// One thread, when all others are done with the level.
__device__ inline void step(Control* control, int* done) {
  unsigned long long next = atomicExch(&control->next, 0);
  control->left -= control->edges;
  control->count = static_cast<unsigned>(next >> 32);
  control->edges = static_cast<unsigned>(next);
  control->level++;
  *done = control->count == 0;
}

extern "C" __global__ void bfs_begin(const int* first, int* depth, unsigned* queue,
                                     Control* control, int* done, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) depth[v] = v == 0 ? 0 : -1;
  if (v != 0) return;
  queue[0] = queue[n] = 0;
  *control = Control{
      1, static_cast<unsigned>(first[1] - first[0]), 0, static_cast<unsigned>(first[n]), 0, 0};
  *done = 0;
}

// One level by one block, whose queue is in shared memory. What it finds goes into `next`, and into
// the queue in global memory, in case the next level is too large for one block.
__device__ inline void small_level(const Graph& g, const Places& now, Places& next,
                                   unsigned long long* counts, int level, unsigned count,
                                   unsigned edges) {
  for (unsigned base = 0; base < edges; base += blockDim.x) {
    unsigned edge = base + threadIdx.x;
    int v = edge < edges ? now.neighbour_of(g, edge, count) : 0;
    bool found = edge < edges && atomicCAS(g.depth + v, -1, level + 1) < 0;
    unsigned lanes = __ballot_sync(~0u, found);
    if (!lanes) continue;
    Slot slot = reserve(counts, lanes, found ? degree_of(g, v) : 0);
    if (!found) continue;
    g.vertices(level + 1)[slot.place] = v;
    g.edges_before(level + 1)[slot.place] = slot.before;
    next.before[slot.place] = slot.before;
    next.offset[slot.place] = g.first[v] - slot.before;
  }
}

// Levels one after the other for as long as they are small: one block.
extern "C" __global__ void __launch_bounds__(1024)
    bfs_small(const int* first, const int* neighbour, int* depth, unsigned* queue, Control* control,
              int* done, int n) {
  __shared__ Places places[2];
  __shared__ unsigned long long next[3];  // in turn: one is written, one read, one cleared
  Graph g = {first, neighbour, depth, queue, n};
  unsigned count = control->count, edges = control->edges, left = control->left;
  int level = control->level, begin = level;
  if (count == 0 || edges > CHUNK) return;
  if (threadIdx.x < 3) next[threadIdx.x] = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) {
    unsigned before = g.edges_before(level)[i];
    places[level & 1].before[i] = before;
    places[level & 1].offset[i] = first[g.vertices(level)[i]] - before;
  }
  __syncthreads();
  while (count > 0 && edges <= CHUNK) {
    int even = level & 1;
    unsigned long long* counts = &next[(level + 1) % 3];
    small_level(g, places[even], places[1 - even], counts, level, count, edges);
    if (threadIdx.x == 0) next[(level + 2) % 3] = 0;
    __syncthreads();
    left -= edges;
    count = static_cast<unsigned>(*counts >> 32);
    edges = static_cast<unsigned>(*counts);
    level++;
  }
  if (threadIdx.x == 0 && level > begin) {
    *control = Control{count, edges, 0, left, level, 0};
    *done = count == 0;
  }
}

// One level, of any size.
extern "C" __global__ void __launch_bounds__(THREADS)
    bfs_large(const int* first, const int* neighbour, int* depth, unsigned* queue, Control* control,
              int* done, int n) {
  __shared__ Chunk chunk;
  Graph g = {first, neighbour, depth, queue, n};
  unsigned count = control->count, edges = control->edges, left = control->left;
  int level = control->level;
  if (count == 0) return;
  if (static_cast<unsigned long long>(edges) * ALPHA > left && count > n / BETA)
    look_up(g, control, level);
  else
    for (unsigned long long edge = static_cast<unsigned long long>(blockIdx.x) * CHUNK;
         edge < edges; edge += static_cast<unsigned long long>(gridDim.x) * CHUNK)
      expand(g, control, chunk, level, count, edge,
             min(static_cast<unsigned>(edge) + CHUNK, edges));
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicInc(&control->ticket, gridDim.x - 1) == gridDim.x - 1) {
    __threadfence();
    step(control, done);
  }
}
