-- A loop whose flag is never set.
-- task: vector/saxpy --set n=255 --timeout 2
-- verdict: timeout
-- reason: no answer
-- device: gpu
return {
  scratch = { done = { dtype = "i32", n = 1, init = 0 } },
  launch = { { repeat_until = "done", max = 4000000000, steps = { { memset = "z" } } } },
}
