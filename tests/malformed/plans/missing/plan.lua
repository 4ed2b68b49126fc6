-- verdict: compile_error
-- says: file: no 'axy.cu'
-- hint: did you mean 'axpy.cu'?
return { file = "axy.cu" }
