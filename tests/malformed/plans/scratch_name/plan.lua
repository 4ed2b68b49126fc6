-- verdict: launch_error
-- says: scratch 'x' has the name of a buffer of the task
return { scratch = { x = { bytes = 4 } } }
