-- verdict: launch_error
-- says: grid of launch #1 has -3
return { launch = { grid = -3, block = 1 } }
