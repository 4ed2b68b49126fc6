-- verdict: launch_error
-- says: argument #3: no buffer or scalar 'zz'
-- hint: did you mean 'z'?
return { args = { "x", "y", "zz", "a", "n" } }
