-- verdict: compile_error
-- says: plan.lua:3: 'os' has no value here
return { doc = os.getenv("HOME") }
