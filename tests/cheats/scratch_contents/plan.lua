-- Brings a table of answers as the contents that scratch memory starts with.
-- task: vector/saxpy --set n=256
-- verdict: launch_error
-- reason: init = a table
return { scratch = { answers = { dtype = "f32", n = 4, init = { 0.5, 1.5, -2.5, 3.5 } } } }
