-- verdict: compile_error
-- says: it runs for more than 1000000 instructions
local n = 0
for i = 1, 1e18 do n = n + i end
return {}
