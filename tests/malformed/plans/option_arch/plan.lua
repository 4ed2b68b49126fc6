-- verdict: compile_error
-- says: options: '--gpu-architecture=sm_50' is not allowed
return { options = { "--gpu-architecture=sm_50" } }
