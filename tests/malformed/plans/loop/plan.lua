-- verdict: compile_error
-- says: plan.lua:3: it runs for more than 1000000 instructions
while true do end
