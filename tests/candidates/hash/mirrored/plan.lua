return {
  file = "mirrored.cu",
  scratch = { own = { dtype = "u64", n = "2 * slots" } },
  launch = {
    { memset = "own", byte = 255 },
    {
      kernel = "put", grid = "ceil_div(n, 256)", block = 256,
      args = { "keys", "own", "n", "slots" },
    },
  },
  export = {
    {
      kernel = "bring", grid = "ceil_div(slots, 256)", block = 256,
      args = { "own", "table", "slots" },
    },
  },
}
