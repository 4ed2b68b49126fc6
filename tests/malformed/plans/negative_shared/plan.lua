-- verdict: launch_error
-- says: shared of launch #1 is -1
return { launch = { grid = 1, block = 32, shared = -1 } }
