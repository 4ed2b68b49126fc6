-- verdict: launch_error
-- says: size of scratch 'queue' is -1
return { scratch = { queue = { dtype = "f32", n = -1 } } }
