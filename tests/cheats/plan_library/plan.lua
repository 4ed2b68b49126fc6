-- A plan that is a program: it would run in the judge.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: 'os' has no value here
return { launch = { grid = os.getenv "HOME" and 1 or 2, block = 256 } }
