-- verdict: launch_error
-- says: expected a number or a name, got the end
return { launch = { grid = "(n + 255) //", block = 256 } }
