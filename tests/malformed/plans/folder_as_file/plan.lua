-- verdict: compile_error
-- says: file: 'inc' is no file
return { file = "inc" }
