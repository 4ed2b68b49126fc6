-- verdict: launch_error
-- says: cooperative: expected true or false, got a string
return { launch = { grid = 1, block = 32, cooperative = "yes" } }
