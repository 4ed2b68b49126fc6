-- verdict: launch_error
-- says: kernel nothing has no signature and the launch gives no args
return { launch = { kernel = "nothing", grid = 1, block = 1 } }
