-- verdict: compile_error
-- says: plan.lua: unknown field 'lanch'
-- hint: did you mean 'launch'?
return { lanch = { grid = 1, block = 1 } }
