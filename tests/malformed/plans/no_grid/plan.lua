-- verdict: launch_error
-- says: grid of launch #1: expected an integer or {x, y, z}, got nil
return { launch = { block = 256 } }
