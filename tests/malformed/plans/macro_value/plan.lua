-- verdict: compile_error
-- says: define LIST: expected a number, a string or a boolean, got a table
return { define = { LIST = { 1, 2 } } }
