-- A sum by the first block of a cluster; what hides behind one is set beside it.
-- task: reduce/sum --set n=300001 --budget 0.3
-- verdict: passed
-- device: gpu
return { launch = { grid = 2, block = 256, cluster = 2 } }
