-- verdict: compile_error
-- says: plan.lua: it needs more than 8 MiB of memory
local t = {}
for i = 1, 1e9 do t[i] = { i } end
return t
