-- A plan that loops for ever when it is read.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: it runs for more than
while true do end
return { launch = { grid = 1, block = 256 } }
