-- Runs the task's kernel, untimed, as its export.
return { kernel = "pairs", export = { grid = "ceil_div(n, 256)", block = 256 } }
