-- verdict: launch_error
-- says: no name 'nn'
-- hint: did you mean 'n'?
return { launch = { grid = "nn // 256", block = 256 } }
