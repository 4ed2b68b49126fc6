/* The Lua module graph.csr: graphs in compressed rows, both directions of each edge, and the depths
 * of a breadth-first search from vertex 0. */
#include <string.h>

#include "bind/bind.h"

enum { SCALE_MAX = 26 };

typedef struct edge {
  int32_t from, to;
} edge;

/* A well-mixed 64-bit function of x. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xd1342543de82ef95u;
  return x ^ (x >> 32);
}

/* A permutation of 0 .. 2^scale - 1. */
static int32_t permute(uint64_t v, int scale, uint64_t seed) {
  const uint64_t mask = ((uint64_t)1 << scale) - 1;
  const int shift = scale / 2 + 1;
  for (int round = 0; round < 3; round++) {
    v = (v * (2 * mix(seed + (uint64_t)round) + 1)) & mask;
    v ^= v >> shift;
  }
  return (int32_t)v;
}

/* An edge of a recursive matrix: at each bit a quarter, with odds of 57, 19, 19 and 5 in 100. */
static edge rmat_edge(uint64_t seed, uint64_t index, int scale) {
  uint64_t from = 0, to = 0, bits = 0;
  for (int bit = 0; bit < scale; bit++, bits >>= 16) {
    if (bit % 4 == 0) bits = mix(seed + 8 * index + (uint64_t)bit / 4 + 1);
    const unsigned draw = bits & 65535;
    from = 2 * from + (draw >= 49807);                                /* 76 in 100 */
    to = 2 * to + ((draw >= 37356 && draw < 49807) || draw >= 62259); /* 57, 95 in 100 */
  }
  return (edge){permute(from, scale, seed), permute(to, scale, seed)};
}

/* Vertex 0 changes places with an end of the first edge, so that it has a neighbour. */
static void swap_zero(edge *edges, size_t count) {
  const int32_t other = edges[0].from;
  for (size_t i = 0; i < count; i++) {
    int32_t *ends[2] = {&edges[i].from, &edges[i].to};
    for (int e = 0; e < 2; e++) *ends[e] = *ends[e] == 0 ? other : *ends[e] == other ? 0 : *ends[e];
  }
}

/* Rows by counting; first has n + 2 places while they are filled. */
static void fill_rows(const edge *edges, size_t count, int32_t *first, int32_t *neighbour,
                      int64_t n, int64_t *place) {
  memset(place, 0, (size_t)(n + 1) * sizeof *place);
  for (size_t i = 0; i < count; i++) place[edges[i].from + 1]++, place[edges[i].to + 1]++;
  for (int64_t v = 0; v < n; v++) place[v + 1] += place[v];
  for (int64_t v = 0; v <= n; v++) first[v] = (int32_t)place[v];
  for (size_t i = 0; i < count; i++) {
    neighbour[place[edges[i].from]++] = edges[i].to;
    neighbour[place[edges[i].to]++] = edges[i].from;
  }
}

/* Rows of `count` edges between n vertices: returns first[n + 1] and neighbour[2 count]. */
static int push_rows(lua_State *L, const edge *edges, size_t count, int64_t n) {
  int64_t *place = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *place, 0);
  const pg_array *first = pg_lua_new_vector(L, "i32", n + 1);
  const pg_array *neighbour = pg_lua_new_vector(L, "i32", 2 * (int64_t)count);
  fill_rows(edges, count, first->data, neighbour->data, n, place);
  return 2;
}

static int check_scale(lua_State *L, int arg) {
  const lua_Integer scale = luaL_checkinteger(L, arg);
  if (scale < 1 || scale > SCALE_MAX) pg_lua_argument(L, arg, "scale from 1 to 26");
  return (int)scale;
}

/* In place of the last edges a way from vertex 0 over up to `tail` of the vertices without any. */
static void add_tail(edge *edges, size_t count, uint8_t *known, int64_t n, lua_Integer tail) {
  memset(known, 0, (size_t)n);
  known[0] = 1;
  for (size_t i = 0; i < count; i++) known[edges[i].from] = known[edges[i].to] = 1;
  int32_t end = 0;
  for (int64_t v = 0; v < n && tail > 0 && count > 1; v++) {
    if (known[v]) continue;
    edges[--count] = (edge){end, (int32_t)v};
    end = (int32_t)v;
    tail--;
  }
}

/* rmat(seed, scale, factor [, tail]): 2^scale vertices and factor times as many edges. Edges may
 * occur several times, and may join a vertex to itself. */
static int rmat(lua_State *L) {
  const uint64_t seed = (uint64_t)luaL_checkinteger(L, 1);
  const int scale = check_scale(L, 2);
  const lua_Integer factor = luaL_checkinteger(L, 3);
  if (factor < 1 || factor > 31) pg_lua_argument(L, 3, "factor from 1 to 31");
  const lua_Integer tail = luaL_optinteger(L, 4, 0);
  const size_t count = (size_t)factor << scale;
  edge *edges = lua_newuserdatauv(L, count * sizeof *edges, 0);
  for (size_t i = 0; i < count; i++) edges[i] = rmat_edge(mix(seed), i, scale);
  swap_zero(edges, count);
  const int64_t n = (int64_t)1 << scale;
  add_tail(edges, count, lua_newuserdatauv(L, (size_t)n, 0), n, tail);
  return push_rows(L, edges, count, n);
}

static void shuffle(edge *edges, size_t count, uint64_t seed) {
  for (size_t i = count; i > 1; i--) {
    const size_t other = mix(seed + i) % i;
    const edge moved = edges[i - 1];
    edges[i - 1] = edges[other];
    edges[other] = moved;
  }
}

/* grid(seed, scale): 2^scale vertices, 2^(scale / 2) of them beside each other, with mixed names.
 * Each is joined to those beside, above and below, but one edge in 16 is left out: a depth would be
 * a distance, known without a search. For the same reason edges have no order, which would tell
 * directions. */
static int grid(lua_State *L) {
  const uint64_t seed = (uint64_t)luaL_checkinteger(L, 1);
  const int scale = check_scale(L, 2);
  const int64_t width = (int64_t)1 << scale / 2, n = (int64_t)1 << scale, height = n / width;
  const size_t count = (size_t)(2 * n - width - height);
  edge *edges = lua_newuserdatauv(L, (count + 1) * sizeof *edges, 0);
  size_t i = 0;
  for (int64_t v = 0; v < n; v++) {
    const int32_t name = permute((uint64_t)v, scale, mix(seed));
    if (v % width + 1 < width)
      edges[i++] = (edge){name, permute((uint64_t)v + 1, scale, mix(seed))};
    if (v + width < n) edges[i++] = (edge){name, permute((uint64_t)(v + width), scale, mix(seed))};
  }
  shuffle(edges, count, mix(seed + 1));
  const size_t kept = count - count / 16;
  swap_zero(edges, kept);
  return push_rows(L, edges, kept, n);
}

/* depths(first, neighbour): of every vertex from vertex 0; -1 for those that it does not reach. */
static int depths(lua_State *L) {
  const pg_array *rows = pg_lua_check_array(L, 1, PG_I32);
  const pg_array *neighbours = pg_lua_check_array(L, 2, PG_I32);
  const int64_t n = (int64_t)rows->count - 1;
  const int32_t *first = rows->data, *neighbour = neighbours->data;
  int32_t *queue = lua_newuserdatauv(L, (size_t)n * sizeof *queue, 0);
  int32_t *depth = pg_lua_new_vector(L, "i32", n)->data;
  memset(depth, 0xff, (size_t)n * sizeof *depth);
  int64_t head = 0, tail = 0;
  depth[0] = 0;
  for (queue[tail++] = 0; head < tail; head++) {
    const int32_t v = queue[head];
    for (int32_t e = first[v]; e < first[v + 1]; e++) {
      const int32_t w = neighbour[e];
      if (depth[w] >= 0) continue;
      depth[w] = depth[v] + 1;
      queue[tail++] = w;
    }
  }
  return 1;
}

PG_API int luaopen_graph_csr(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"rmat", rmat}, {"grid", grid}, {"depths", depths}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
