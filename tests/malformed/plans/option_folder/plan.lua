-- verdict: compile_error
-- says: options: '-I/usr/include' is not allowed
return { options = { "-I/usr/include" } }
