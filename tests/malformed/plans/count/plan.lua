-- verdict: launch_error
-- says: kernel saxpy takes 5 parameters
return { args = { "x", "y", "z", "a" } }
