-- verdict: compile_error
-- says: plan.lua: expected a table, got a number
-- hint: return { ... }
return 7
