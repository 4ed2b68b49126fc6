-- verdict: launch_error
-- says: f33
return { scratch = { queue = { dtype = "f33", n = 1 } } }
