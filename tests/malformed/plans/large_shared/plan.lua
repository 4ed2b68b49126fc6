-- verdict: launch_error
-- says: 1073741824 bytes of shared memory a block
return { launch = { grid = 1, block = 32, shared = 1 << 30 } }
