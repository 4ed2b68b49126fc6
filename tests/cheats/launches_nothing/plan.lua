-- Launches nothing.
-- task: vector/saxpy
-- verdict: launch_error
-- reason: launch has no steps
return { launch = {} }
