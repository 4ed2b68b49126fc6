-- Asks for a terabyte of scratch memory, so that the machine would be to blame.
-- task: vector/saxpy --set n=256
-- verdict: launch_error
-- reason: scratch
return { scratch = { all = { bytes = 1000000000000 } } }
