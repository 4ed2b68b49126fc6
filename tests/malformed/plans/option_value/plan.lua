-- verdict: compile_error
-- says: options: '--fmad=perhaps' has no such value
return { options = { "--fmad=perhaps" } }
