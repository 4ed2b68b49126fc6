-- verdict: compile_error
-- says: options: '--fast_math' is not allowed
-- hint: did you mean --use_fast_math?
return { options = { "--fast_math" } }
