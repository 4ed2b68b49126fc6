-- verdict: launch_error
-- says: got true
return { launch = { grid = true, block = 256 } }
