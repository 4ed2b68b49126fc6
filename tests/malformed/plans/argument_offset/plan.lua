-- verdict: launch_error
-- says: argument #1: offset 1099511627776 in the
return { args = { { "x", offset = 1 << 40 }, "y", "z", "a", "n" } }
