--- Spare runners: processes that open the device ahead of need, so that a candidate does not wait
-- for the driver. None is started, and none is still opening, while anything is timed (invariant
-- 5).
-- @module perigee.pool

local runner = require "perigee.runner"

local Pool = {}
Pool.__index = Pool

local pool = {}

--- @tparam string spec device
-- @tparam table how what runner.start takes
function pool.new(spec, how)
  return setmetatable({ spec = spec, how = how, spares = {}, trusted = {}, ending = {}, all = {} },
    Pool)
end

--- Start runners until `count` spares are there or opening.
function Pool:fill(count)
  while #self.spares < count do
    local one = runner.start(self.spec, self.how)
    table.insert(self.spares, one)
    self.all[one] = true
  end
end

-- Wait for those that were given back: they may still hold memory of the device.
local function reap(self)
  for _, one in ipairs(self.ending) do
    one:close()
    self.all[one] = nil
  end
  self.ending = {}
end

-- A spare that died while it waited, as when memory ran out, is no candidate's fault. One that was
-- killed may hold a device for a while yet, but answers no more.
local function drop_dead(self)
  for i = #self.spares, 1, -1 do
    local one = self.spares[i]
    if not one:answers() then
      table.remove(self.spares, i)
      table.insert(self.ending, one)
    end
  end
end

-- A trusted runner that was kept and has loaded that module, the one kept longest first: an arm
-- gets the process that it had.
local function kept(self, warm)
  for i, one in ipairs(self.trusted) do
    if one.warm == warm then return table.remove(self.trusted, i) end
  end
  return nil
end

--- A runner; it may still be opening.
-- @tparam[opt] string role "trusted": never one that a candidate was in, or will be
-- @tparam[opt] string warm module that it loads ahead of need
function Pool:take(role, warm)
  drop_dead(self)
  reap(self)
  if role then
    local one = kept(self, warm) or runner.start(self.spec, self.how, role, warm)
    self.all[one] = true
    return one
  end
  self:fill(1)
  return table.remove(self.spares, 1)
end

--- Wait until no spare is opening and no former runner ending any more: call before timing.
function Pool:settle()
  reap(self)
  for _, one in ipairs(self.spares) do one:ready() end
end

--- Give a runner back. It ends while something else goes on.
function Pool:release(one)
  one:stop()
  table.insert(self.ending, one)
end

--- Give a runner back for who comes next: a task's own implementations need no own process.
-- It holds no memory of the device meanwhile.
function Pool:keep(one)
  if one.dead or not one:clear() then return self:release(one) end
  table.insert(one.trusted and self.trusted or self.spares, one)
end

--- End every process.
function Pool:close()
  for one in pairs(self.all) do one:close() end
  self.all, self.spares, self.trusted, self.ending = {}, {}, {}, {}
end

return pool
