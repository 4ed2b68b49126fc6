-- verdict: compile_error
-- says: no name 'BLCK'
return { knobs = { BLOCK = { 256, 512 } }, where = { "BLCK > 512" } }
