-- A tensor map over twice the memory of its buffer.
-- task: vector/saxpy --set n=256
-- verdict: launch_error
-- reason: the buffer has fewer elements
-- device: gpu
return {
  launch = {
    kernel = "outside", grid = 1, block = 256,
    args = { { tensor_map = "x", shape = { 2, "n" }, box = { 1, 64 } }, "z" },
  },
}
