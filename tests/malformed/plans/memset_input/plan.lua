-- verdict: launch_error
-- says: launch #1: 'x' is an input, which no step may write
return { launch = { { memset = "x" } } }
