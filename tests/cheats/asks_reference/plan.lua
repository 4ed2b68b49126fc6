-- A plan that copies the expected values.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: no buffer 'expected'
return { launch = { { copy = { "z", "expected" } } } }
