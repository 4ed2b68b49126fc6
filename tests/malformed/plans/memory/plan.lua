-- verdict: compile_error
-- says: plan.lua: it needs more than 8 MiB of memory
local s = "x"
while true do s = s .. s end
