-- Blocks that wait for each other in both directions, without a cooperative launch: as many as any
-- GPU holds at a time.
-- task: reduce/sum --set n=1,1000,20003
-- verdict: passed
return {
  scratch = { parts = { dtype = "f32", shape = 4 }, arrived = { dtype = "u32", shape = 2 } },
  launch = {
    { memset = "arrived", byte = 0 },
    { kernel = "sum", grid = 4, block = 128, args = { "x", "y", "n", "parts", "arrived" } },
  },
}
