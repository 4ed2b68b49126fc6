-- verdict: compile_error
-- says: file: '../axpy.cuh' leads out of the candidate's folder
-- hint: copy what the candidate needs into its folder
return { file = "../axpy.cuh" }
