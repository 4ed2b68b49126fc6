-- verdict: compile_error
-- says: plan.lua: it returns nothing
-- hint: write: return { ... }
local launch = { grid = 1 }
