-- verdict: compile_error
-- says: define: 'two words' is no macro name
return { define = { ["two words"] = 1 } }
