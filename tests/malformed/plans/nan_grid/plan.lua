-- verdict: launch_error
-- says: grid of launch #1 has
return { launch = { grid = 0 / 0, block = 1 } }
