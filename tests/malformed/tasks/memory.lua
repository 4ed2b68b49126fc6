-- Loading fills the memory.
local list = {}
for i = 1, math.maxinteger do list[i] = i end
