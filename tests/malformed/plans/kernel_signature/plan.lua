-- verdict: launch_error
-- says: cannot read
return { kernel = "void saxpy(float* x" }
