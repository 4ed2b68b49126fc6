-- A negative grid.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: -1
return { launch = { grid = -1, block = 256 } }
