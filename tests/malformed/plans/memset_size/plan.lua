-- verdict: launch_error
-- says: bytes of launch #1 is
return { launch = { { memset = "z", bytes = "8 * n + 1" } } }
