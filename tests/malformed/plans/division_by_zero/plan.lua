-- verdict: launch_error
-- says: grid of launch #1: division by zero in "n // (n - n)"
return { launch = { grid = "n // (n - n)", block = 1 } }
