-- Its source lies outside its folder.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: leads out of the candidate's folder
return { file = "../../../kernels/vector/saxpy.cu" }
