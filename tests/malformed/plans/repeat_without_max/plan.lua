-- verdict: launch_error
-- says: repeat_until without max
return {
  scratch = { flag = { dtype = "i32", n = 1, init = 0 } },
  launch = { { repeat_until = "flag", steps = { { memset = "z" } } } },
}
