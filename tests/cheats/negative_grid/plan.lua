-- A negative grid.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: grid of launch #1 has -1
return { launch = { grid = -1, block = 256 } }
