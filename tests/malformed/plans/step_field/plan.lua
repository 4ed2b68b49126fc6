-- verdict: launch_error
-- says: launch #1: unknown field 'gird'
-- hint: did you mean 'grid'?
return { launch = { gird = 1, block = 1 } }
