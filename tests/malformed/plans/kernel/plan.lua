-- verdict: launch_error
-- says: no kernel 'saxpi': the module has saxpy, nothing
return { kernel = "saxpi" }
