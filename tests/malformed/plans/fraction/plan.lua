-- verdict: launch_error
-- says: where an integer >= 1 is expected
-- hint: use // for integer division
return { launch = { grid = "n / 256 + 0.5", block = 256 } }
