-- verdict: compile_error
-- says: is no number that C++ reads
return { define = { HALF = 0 / 0 } }
