-- verdict: launch_error
-- says: expected an integer or {x, y, z}, got 4 values
return { launch = { grid = { 1, 1, 1, 1 }, block = 1 } }
