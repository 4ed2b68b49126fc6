-- verdict: compile_error
-- says: no parameter or knob 'VEC'
return { kernel = "saxpy<{VEC}>" }
