-- verdict: compile_error
-- says: plan.lua:4: 'n' has no value here
-- hint: text is an expression: "n"
return { launch = { grid = n // 256, block = 256 } }
