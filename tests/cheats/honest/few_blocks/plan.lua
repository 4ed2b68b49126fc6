-- Fewer blocks than elements need, each with a loop over many.
-- task: vector/saxpy
-- verdict: passed
return { launch = { grid = "min(8, ceil_div(n, 128) + 1)", block = 128 } }
