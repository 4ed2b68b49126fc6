-- verdict: compile_error
-- says: more than 100000 values
local t = { 1 }
for _ = 1, 14 do t = { t, t, t } end
return { launch = t }
