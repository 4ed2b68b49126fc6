-- verdict: compile_error
-- says: launch.grid: expected data, got a function
-- hint: text may be an expression
return { launch = { grid = function() return 1 end, block = 1 } }
