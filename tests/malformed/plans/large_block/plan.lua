-- verdict: launch_error
-- says: blocks of 5000 x 1 x 1 threads
return { launch = { grid = 1, block = 5000 } }
