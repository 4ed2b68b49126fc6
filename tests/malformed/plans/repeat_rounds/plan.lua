-- verdict: launch_error
-- says: max of launch #1 is 1e+30
return {
  scratch = { flag = { bytes = 4, init = 0 } },
  launch = { { repeat_until = "flag", max = 1e30, steps = { { memset = "flag" } } } },
}
