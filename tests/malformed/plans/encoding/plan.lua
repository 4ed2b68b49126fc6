-- verdict: compile_error
-- says: kernel: a string that is not text
return { kernel = "\xff\xfe" }
