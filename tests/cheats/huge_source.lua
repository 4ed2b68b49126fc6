-- A source of 100 MB.
-- task: vector/saxpy
-- verdict: compile_error
-- reason: is longer than 16777216 bytes
return function(folder)
  local file <close> = io.open(folder .. "/huge.cu", "wb")
  local line = "// " .. ("a long comment, "):rep(4096) .. "\n"
  for _ = 1, 100000000 // #line do file:write(line) end
  return "huge.cu"
end
