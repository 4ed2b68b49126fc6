-- Calls a second of `int t_add(int, double)`: by the ffi, and by hand where this is Perigee, whose
-- exit status is 1 when the ffi takes more than LIMIT times as long.
-- Arguments: a label, the library of library.c, and the binding of binding.c ("" for LuaJIT).
-- Each takes its turn in every round; its shortest one counts, the empty loop's taken off.

local label, path, binding = ...
local ffi = require "ffi"
ffi.cdef "int t_add(int a, double b); int t_sum(const int *v, int n);"
local lib = ffi.load(path)
local CALLS, ROUNDS, LIMIT = 200000, 20, 3

local sink = 0
local f, sum, v = lib.t_add, lib.t_sum, ffi.new("int[4]", 1, 2, 3, 4)
local loops = {
  { what = "an empty loop", body = function() for i = 1, CALLS do sink = sink + i end end },
  { what = "ffi, int f(int, double)", body = function()
    for i = 1, CALLS do sink = sink + f(i, 2.5) end
  end },
  { what = "ffi, the same through the library", body = function()
    for i = 1, CALLS do sink = sink + lib.t_add(i, 2.5) end
  end },
  { what = "ffi, int f(const int *, int)", body = function()
    for _ = 1, CALLS do sink = sink + sum(v, 1) end
  end },
}
if binding ~= "" then
  local add = assert(package.loadlib(binding, "luaopen_binding"))()
  loops[5] = { what = "a binding by hand", body = function()
    for i = 1, CALLS do sink = sink + add(i, 2.5) end
  end }
end

local function run_rounds()
  for _ = 1, ROUNDS do
    for _, loop in ipairs(loops) do
      local start = os.clock()
      loop.body()
      loop.shortest = math.min(loop.shortest or math.huge, os.clock() - start)
    end
  end
end

local function seconds(index)
  return math.max(loops[index].shortest - loops[1].shortest, 1e-9)
end

run_rounds()
-- On a busy machine the shortest of few rounds is not the shortest that there is.
for _ = 1, 4 do
  if loops[5] and seconds(2) > LIMIT * seconds(5) then run_rounds() end
end
for i = 2, #loops do
  print(("%-14s%-35s %8.1f million calls/s  %6.1f ns"):format(label, loops[i].what,
    CALLS / seconds(i) / 1e6, seconds(i) / CALLS * 1e9))
end
if loops[5] then
  local ratio = seconds(2) / seconds(5)
  print(("%-14s%-35s %8.2f times the binding by hand; at most %g"):format(label, "ffi", ratio,
    LIMIT))
  os.exit(ratio <= LIMIT)
end
