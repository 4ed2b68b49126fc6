-- verdict: compile_error
-- says: cannot tell the language of 'notes.txt'
-- hint: say it: lang = "cuda"
return { file = "notes.txt" }
