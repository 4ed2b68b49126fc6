-- verdict: compile_error
-- says: args: expected a list, got the key '4'
return { args = { "x", "y", [4] = "a" } }
