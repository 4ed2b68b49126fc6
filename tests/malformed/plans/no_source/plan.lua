-- verdict: compile_error
-- says: the folder has no source
-- hint: expected a .cu, .rs, .py or .ptx file
return {}
