--- graph/bfs: breadth-first search, plans that loop until a flag on the device is set.

local pg = require "perigee"
local csr = require "graph.csr"

local function per_vertex(p) return ((1 << p.scale) + 255) // 256 end

local FRONTIER = { "first", "neighbour", "depth", "queue", "control", "done", "n" }

-- Four large levels between two looks at the flag: a level that finds nothing to do is cheaper.
local function frontier_round(p)
  local blocks = math.min(792, (p.factor << p.scale) // 1024 + 1)
  local steps = { { kernel = "bfs_small", grid = 1, block = 1024, args = FRONTIER } }
  for i = 2, 5 do
    steps[i] = { kernel = "bfs_large", grid = blocks, block = 256, args = FRONTIER }
  end
  return steps
end

return pg.task {
  name = "graph/bfs",
  doc = [==[
Depth of every vertex of a graph, by breadth-first search from vertex 0.

The neighbours of vertex v are neighbour[first[v]] ... neighbour[first[v + 1] - 1]. Every edge is
there in both directions; edges may occur several times and may join a vertex to itself. depth[v] is
the smallest number of edges on a way from vertex 0 to v, 0 for vertex 0, -1 where there is no way.
There are n = 2^scale vertices and m neighbours in all. Graph rmat: factor * n edges of a recursive
matrix (Chakrabarti, Zhan and Faloutsos, 2004) with few vertices of very high degree, in about 7
levels. Graph grid: 2^(scale / 2) vertices wide, with up to four neighbours each and many levels;
one edge in 16 is missing. With tail > 0, graph rmat has a row of vertices that makes as many
levels. The names of vertices are mixed. At least the rows and the depths must be moved, and one
neighbour of each vertex looked at: 12 bytes a vertex.]==],
  params = {
    graph = {
      default = "rmat", check = { "rmat", "rmat", "grid", "rmat", "grid" }, sim = "rmat",
      choices = { "rmat", "grid" }, doc = "kind of graph",
    },
    scale = {
      default = 20, check = { 1, 6, 7, 11, 12 }, sim = 10, min = 1, max = 24,
      doc = "log2 of the number of vertices",
    },
    factor = {
      default = 16, check = { 1, 2, 1, 16, 1 }, sim = 8, min = 1, max = 31,
      doc = "edges a vertex of graph rmat",
    },
    tail = {
      default = 0, check = { 0, 0, 0, 9, 0 }, min = 0, max = 4096,
      doc = "vertices in a row that hang on vertex 0 of graph rmat, at most",
    },
  },
  cells = {
    { name = "rmat", set = { graph = "rmat" }, doc = "few levels, very unequal degrees" },
    { name = "grid", set = { graph = "grid" }, doc = "many levels, small degrees" },
  },
  -- Else nobody need look whether there are more levels than a graph of this kind usually has.
  also = { { tail = 20 } },
  inputs = function(p, rng)
    local seed = rng:integer(0, (1 << 62) - 1)
    local first, neighbour
    if p.graph == "rmat" then first, neighbour = csr.rmat(seed, p.scale, p.factor, p.tail)
    else first, neighbour = csr.grid(seed, p.scale) end
    return { first = first, neighbour = neighbour }
  end,
  outputs = function(p) return { depth = pg.spec("i32", 1 << p.scale) } end,
  kernel = "void bfs(const int* first, const int* neighbour, int* depth, int n)",
  args = function(p) return { n = 1 << p.scale } end,
  launch = function(p) return { grid = per_vertex(p), block = 256 } end,
  reference = function(_, io) return { depth = csr.depths(io.first, io.neighbour) } end,
  validate = "exact",
  work = function(p, io) return { bytes = 12 << p.scale, items = io.neighbour.count } end,
  facts = function(_, _, expected) return { levels = expected.depth:max() + 1 } end,
  time = { method = "hot" },
  impls = {
    naive = {
      "cuda", "kernels/graph/bfs_levels.cu", doc = "every vertex looks whether it is in the level",
      launch = function(p)
        local grid = per_vertex(p)
        return {
          { kernel = "bfs_begin", grid = grid, block = 256, args = { "depth", "control", "n" } },
          {
            repeat_until = "done", max = 1 << p.scale,
            steps = {
              {
                kernel = "bfs_level", grid = grid, block = 256,
                args = { "first", "neighbour", "depth", "control", "n" },
              },
              { kernel = "bfs_next", grid = 1, block = 1, args = { "control", "done" } },
            },
          },
        }
      end,
      scratch = { control = { dtype = "i32", n = 2 }, done = { dtype = "i32", n = 1 } },
    },
    frontier = {
      "cuda", "kernels/graph/bfs_frontier.cu", doc = "from a queue, downwards or upwards",
      launch = function(p)
        return {
          {
            kernel = "bfs_begin", grid = per_vertex(p), block = 256,
            args = { "first", "depth", "queue", "control", "done", "n" },
          },
          { repeat_until = "done", max = 1 << p.scale, steps = frontier_round(p) },
        }
      end,
      scratch = function(p)
        return {
          queue = { dtype = "u32", n = 4 << p.scale }, control = { dtype = "u32", n = 8 },
          done = { dtype = "i32", n = 1 },
        }
      end,
    },
  },
}
