-- verdict: launch_error
-- says: copy: expected two buffers
return { launch = { { copy = { "z" } } } }
