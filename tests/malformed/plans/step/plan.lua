-- verdict: launch_error
-- says: launch #2: expected a step, got string
return { launch = { { memset = "z" }, "saxpy" } }
