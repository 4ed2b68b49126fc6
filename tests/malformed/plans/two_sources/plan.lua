-- verdict: compile_error
-- says: the folder has 2 sources: axpy.cu, other.cu
-- hint: say which: file = "axpy.cu"
return {}
