-- two elements a thread, half the blocks
return {
  kernel = "axpy<{BLOCK}>",
  launch = { grid = "ceil_div(n, 2 * BLOCK)", block = "BLOCK" },
  knobs = { BLOCK = { 128, 256 } },
  include = { "inc" },
  options = { "--fmad=false", "-lineinfo", "--std=c++17" },
  define = { FACTOR = 1 },
}
