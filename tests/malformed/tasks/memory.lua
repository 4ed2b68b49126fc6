-- Loading fills the memory.
local list, kilobyte = {}, ("x"):rep(1024)
for i = 1, math.maxinteger do list[i] = kilobyte:rep(64) end
