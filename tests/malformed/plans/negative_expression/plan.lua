-- verdict: launch_error
-- says: grid of launch #1 has -
return { launch = { grid = "-n - 1", block = 1 } }
