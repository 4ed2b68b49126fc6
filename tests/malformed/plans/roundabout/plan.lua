-- verdict: compile_error
-- says: leads out of the candidate's folder
return { include = { "inc/../../../tasks" } }
