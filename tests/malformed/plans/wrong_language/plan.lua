-- verdict: compile_error
-- says: a character that PTX does not use
return { lang = "ptx" }
