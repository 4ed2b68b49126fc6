-- Calls a second of `int t_add(int, double)`: by the ffi, and by hand where this is Perigee.
-- Arguments: a label, the library of library.c, and the binding of binding.c ("" for LuaJIT).
-- The best of five rounds, the empty loop taken off.

local label, path, binding = ...
local ffi = require "ffi"
ffi.cdef "int t_add(int a, double b); int t_sum(const int *v, int n);"
local lib = ffi.load(path)
local CALLS = 2000000

local function best(body)
  local shortest = math.huge
  for _ = 1, 5 do
    local start = os.clock()
    body()
    shortest = math.min(shortest, os.clock() - start)
  end
  return shortest
end

local sink = 0
local empty = best(function()
  for i = 1, CALLS do sink = sink + i end
end)

local function report(what, body)
  local seconds = math.max(best(body) - empty, 1e-9)
  print(("%-38s %8.1f million calls/s  %6.1f ns"):format(label .. ", " .. what,
    CALLS / seconds / 1e6, seconds / CALLS * 1e9))
  return seconds
end

local by_ffi = report("ffi, int f(int, double)", function()
  local f = lib.t_add
  for i = 1, CALLS do sink = sink + f(i, 2.5) end
end)
report("ffi, the same through the library", function()
  for i = 1, CALLS do sink = sink + lib.t_add(i, 2.5) end
end)
local v = ffi.new("int[4]", 1, 2, 3, 4)
report("ffi, int f(const int *, int)", function()
  local f = lib.t_sum
  for _ = 1, CALLS do sink = sink + f(v, 1) end
end)
if binding ~= "" then
  local add = assert(package.loadlib(binding, "luaopen_binding"))()
  local by_hand = report("a binding by hand", function()
    for i = 1, CALLS do sink = sink + add(i, 2.5) end
  end)
  print(("%-38s %8.2f times the binding by hand"):format(label .. ", ffi", by_ffi / by_hand))
end
