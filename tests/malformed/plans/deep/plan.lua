-- verdict: compile_error
-- says: nested deeper than 16 tables
return { launch = {{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}} }
