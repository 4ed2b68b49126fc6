-- verdict: launch_error
-- says: init = 300
return { scratch = { queue = { dtype = "f32", n = 1, init = 300 } } }
