-- Breadth-first search as in textbooks: plain reads and writes of the depths, where several threads
-- may store the same depth at once and others read it meanwhile.
-- task: graph/bfs --set graph=rmat,grid --set scale=5,8
-- verdict: passed
-- finding: weak_write here
return {
  kernel = "level",
  scratch = { control = { dtype = "i32", n = 2 }, done = { dtype = "i32", n = 1 } },
  launch = {
    { kernel = "begin", grid = "ceil_div(n, 256)", block = 256,
      args = { "depth", "control", "n" } },
    {
      repeat_until = "done", max = "n",
      steps = {
        {
          kernel = "level", grid = "ceil_div(n, 256)", block = 256,
          args = { "first", "neighbour", "depth", "control", "n" },
        },
        { kernel = "next_level", grid = 1, block = 1, args = { "control", "done" } },
      },
    },
  },
}
