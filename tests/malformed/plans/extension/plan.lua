-- verdict: compile_error
-- says: cannot tell the language of 'notes.txt'
-- hint: lang = "cuda"
return { file = "notes.txt" }
