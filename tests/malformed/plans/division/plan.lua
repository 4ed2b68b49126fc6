-- verdict: compile_error
-- says: plan.lua:3: attempt to divide by zero
return { launch = { grid = 1 // 0, block = 1 } }
