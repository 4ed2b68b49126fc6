-- Asks for 100 TB of scratch memory.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: more than 2^46 elements
return { scratch = { all = { bytes = 100000000000000 } } }
