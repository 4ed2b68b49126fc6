-- verdict: compile_error
-- says: plan.lua: expected a table, got a string
return "launch"
