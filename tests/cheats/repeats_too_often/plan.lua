-- A loop whose flag is never set, with a bound on its rounds.
-- task: vector/saxpy --set n=255
-- verdict: timeout
-- reason: 1000 rounds
return {
  scratch = { done = { dtype = "i32", n = 1, init = 0 } },
  launch = { { repeat_until = "done", max = 1000, steps = { { memset = "z" } } } },
}
