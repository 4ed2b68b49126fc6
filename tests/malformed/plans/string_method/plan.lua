-- verdict: compile_error
-- says: attempt to index a string value
return { doc = ("x"):rep(1 << 40) }
