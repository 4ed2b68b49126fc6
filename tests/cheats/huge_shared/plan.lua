-- Asks for 100 MB of shared memory.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: shared
return { launch = { grid = "ceil_div(n, 256)", block = 256, shared = 100000000 } }
