-- verdict: compile_error
-- says: options: #1: expected a string, got a number
return { options = { 3 } }
