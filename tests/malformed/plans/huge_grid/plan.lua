-- verdict: launch_error
-- says: grid of launch #1 has 1099511627776
return { launch = { grid = 1 << 40, block = 1 } }
