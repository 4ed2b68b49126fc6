-- verdict: launch_error
-- says: launch #1: unknown field 'copy'
return { launch = { { memset = "z", copy = { "z", "x" } } } }
