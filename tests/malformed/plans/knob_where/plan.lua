-- verdict: compile_error
-- says: break the constraint BLOCK > 512
return { knobs = { BLOCK = { 256, 512 } }, where = { "BLOCK > 512" } }
