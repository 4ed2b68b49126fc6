-- Asks for a grid of 2^70 blocks.
-- task: vector/saxpy --timeout 1
-- verdict: launch_error
-- reason: grid
return { launch = { grid = { 2147483647, 1000000, 1000000 }, block = 256 } }
