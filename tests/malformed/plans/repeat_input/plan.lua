-- verdict: launch_error
-- says: 'x' is an input
return { launch = { { repeat_until = "x", max = 9, steps = { { memset = "z" } } } } }
