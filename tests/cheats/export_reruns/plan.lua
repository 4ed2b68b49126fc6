-- Runs the task's own kernel as its export, untimed.
-- task: tests/candidates/layout/pairs.lua
-- verdict: launch_error
-- reason: 'pairs' is the task's
return { kernel = "pairs", export = { grid = "ceil_div(n, 256)", block = 256 } }
