-- verdict: compile_error
-- says: field 'launch': expected table, got a string
return { launch = "n // 256" }
