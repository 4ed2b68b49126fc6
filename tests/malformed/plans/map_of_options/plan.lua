-- verdict: compile_error
-- says: options: expected a list, got the key 'fmad'
return { options = { fmad = false } }
