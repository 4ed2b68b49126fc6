-- verdict: launch_error
-- says: the flag 'flag' has 2 bytes
return {
  scratch = { flag = { dtype = "i16", n = 1, init = 0 } },
  launch = { { repeat_until = "flag", max = 100, steps = { { memset = "flag" } } } },
}
