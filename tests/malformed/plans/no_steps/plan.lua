-- verdict: launch_error
-- says: launch has no steps
return { launch = {} }
