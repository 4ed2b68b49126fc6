-- verdict: launch_error
-- says: byte of launch #1 is 256
return { launch = { { memset = "z", byte = 256 } } }
