-- verdict: launch_error
-- says: no function 'os'
return { launch = { grid = "os(n)", block = 256 } }
