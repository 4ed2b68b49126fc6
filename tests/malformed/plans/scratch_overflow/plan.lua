-- verdict: launch_error
-- says: more than 2^46 elements
return { scratch = { queue = { dtype = "f64", shape = { 1 << 40, 1 << 40 } } } }
