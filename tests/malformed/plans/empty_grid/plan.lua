-- verdict: unwritten_output
-- says: z: 1000 of 1000 elements never written
return { launch = { grid = 0, block = 256 } }
