-- Puts a folder of the host into the include path by an option of the compiler.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: '-I/etc' is not allowed
return { options = { "-I/etc", "--pre-include=passwd" } }
