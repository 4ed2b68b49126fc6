-- verdict: compile_error
-- says: knob n has the name of a parameter
return { knobs = { n = { 1, 2 } } }
