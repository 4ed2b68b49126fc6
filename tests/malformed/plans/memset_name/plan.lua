-- verdict: launch_error
-- says: launch #1: no buffer 'zz'
return { launch = { { memset = "zz" } } }
