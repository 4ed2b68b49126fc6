-- verdict: compile_error
-- says: include: '/usr/include' leads out of the candidate's folder
return { include = { "/usr/include" } }
