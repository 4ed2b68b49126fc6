-- verdict: launch_error
-- says: scratch 'queue': unknown field 'size'
return { scratch = { queue = { dtype = "f32", size = 1 } } }
