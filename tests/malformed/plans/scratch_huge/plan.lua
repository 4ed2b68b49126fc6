-- verdict: launch_error
-- says: scratch of 35184372088832 bytes
return { scratch = { queue = { bytes = 1 << 45 } } }
