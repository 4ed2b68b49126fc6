-- verdict: compile_error
-- says: options: '--pre-include=/etc/passwd' is not allowed
-- hint: allowed: --use_fast_math
return { options = { "--pre-include=/etc/passwd" } }
