-- Blocks in clusters, which the simulator lacks: its record says that nobody looked for what a GPU
-- does not see.
-- task: vector/saxpy --set n=256 --budget 0.1
-- verdict: passed
-- finding: unchecked
-- device: gpu
return { launch = { grid = 2, block = 128, cluster = 2 } }
