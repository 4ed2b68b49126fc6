-- Takes denormal numbers for zero.
-- task: vector/saxpy
-- verdict: wrong_result
-- reason: denormal values
return { options = { "--ftz=true" } }
