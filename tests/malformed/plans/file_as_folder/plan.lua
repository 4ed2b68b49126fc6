-- verdict: compile_error
-- says: include: 'axpy.cu' is no folder
return { include = { "axpy.cu" } }
