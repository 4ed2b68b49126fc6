-- verdict: timeout
-- says: flag is still 0 after 100 rounds
return {
  scratch = { flag = { dtype = "i32", n = 1, init = 0 } },
  launch = { { repeat_until = "flag", max = 100, steps = { { memset = "flag" } } } },
}
