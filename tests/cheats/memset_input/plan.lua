-- A step of the plan that zeroes an input.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: 'x' is an input
return { launch = { { memset = "x" }, { memset = "y" }, { memset = "z" } } }
