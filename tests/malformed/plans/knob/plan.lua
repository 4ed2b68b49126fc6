-- verdict: compile_error
-- says: knob BLOCK: expected a list of values
return { knobs = { BLOCK = {} } }
