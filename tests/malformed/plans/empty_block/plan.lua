-- verdict: launch_error
-- says: launch #1 has an empty block
return { launch = { grid = 1, block = 0 } }
