-- verdict: launch_error
-- says: 'z' is copied to itself
return { launch = { { copy = { "z", "z" } } } }
