-- verdict: compile_error
-- says: type name is not allowed
return { kernel = "saxpy<float, 4>" }
