-- verdict: launch_error
-- says: argument #4 of kernel saxpy: expected f32, got a buffer
return { args = { "x", "y", "z", "x", "n" } }
