-- verdict: compile_error
-- says: nested deeper than 16 tables, or in a circle
local steps = {}
steps[1] = steps
return { launch = steps }
