-- Takes the sum from the third output before its own, as third_neighbour does, behind a cluster of
-- blocks, which the simulator lacks: on an H200 this once passed, 1900 times as fast as the work.
-- task: reduce/sum --set n=300001 --budget 0.3
-- verdict: passed
-- finding: unchecked
-- gains: nothing over sum_in_clusters
-- device: gpu
return { launch = { grid = 2, block = 256, cluster = 2 } }
