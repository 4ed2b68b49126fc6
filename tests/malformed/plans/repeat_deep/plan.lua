-- verdict: launch_error
-- says: nested deeper than 4
return {
  scratch = { flag = { bytes = 4, init = 0 } },
  launch = { { repeat_until = "flag", max = 2, steps = { { repeat_until = "flag", max = 2, steps = { { repeat_until = "flag", max = 2, steps = { { repeat_until = "flag", max = 2, steps = { { repeat_until = "flag", max = 2, steps = { { memset = "flag" } } } } } } } } } } } },
}
