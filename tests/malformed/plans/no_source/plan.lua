-- verdict: compile_error
-- says: the folder has no source
-- hint: expected a .cu or .ptx file
return {}
