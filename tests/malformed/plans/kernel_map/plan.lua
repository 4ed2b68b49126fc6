-- verdict: launch_error
-- says: kernel: expected names by name
return { kernel = { "saxpy" } }
