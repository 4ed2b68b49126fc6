-- Uses dynamic shared memory that its plan does not ask for.
-- task: vector/saxpy
-- verdict: out_of_bounds
-- reason: shared
-- gpu: out_of_bounds
return { launch = { grid = "ceil_div(n, 256)", block = 256, shared = 0 } }
