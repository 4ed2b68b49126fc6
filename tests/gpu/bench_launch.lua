-- Launches from Lua, for bench_launch.c: the empty kernel by kernel:bind and by kernel:launch.
-- @return function(how, count): nanoseconds a launch
local core = require "perigee.core"

local ptx = ...
local dev = core.device "cuda:0"
local kernel = dev:load(ptx, "empty.ptx"):kernel "empty"
local x, y = dev:alloc(4096, "x"), dev:alloc(4096, "y")
local bound = kernel:bind { grid = 1, block = 32, args = { x, y, 2.0, 1024 } }

local function bind(count)
  local start = core.now()
  for _ = 1, count do bound() end
  return core.now() - start
end

local function launch(count)
  local start = core.now()
  for _ = 1, count do
    kernel:launch { grid = 1, block = 32, args = { x, y, 2.0, 1024 } }
  end
  return core.now() - start
end

local ways = { bind = bind, launch = launch }

return function(how, count)
  local seconds = ways[how](count)
  dev:sync()
  return seconds * 1e9 / count
end
