-- verdict: launch_error
-- says: grid of launch #1 has inf
return { launch = { grid = 1e999, block = 1 } }
