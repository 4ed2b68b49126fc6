-- verdict: compile_error
-- says: launch: a key that is neither a name nor an integer
return { launch = { [1.5] = 1 } }
