-- verdict: launch_error
-- says: the result does not fit 64 bits
return { launch = { grid = "1 << 62 << 2", block = 1 } }
