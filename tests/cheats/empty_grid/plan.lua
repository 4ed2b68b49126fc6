-- An empty grid, where the task allows one for empty inputs.
-- task: vector/saxpy --set n=256
-- verdict: unwritten_output
-- reason: never written
return { launch = { grid = "0 * n", block = 256 } }
