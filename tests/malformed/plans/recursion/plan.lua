-- verdict: compile_error
-- says: plan.lua: it needs more than 8 MiB of memory
local function f(n) return 1 + f(n + 1) end
return f(1)
