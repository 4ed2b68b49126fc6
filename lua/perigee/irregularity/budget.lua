--- How the time of a run of the suite is shared out. What a cell takes beside timing is foretold,
-- by constants and then by the cells before; the rest goes to timing.
-- @module perigee.irregularity.budget

local core = require "perigee.core"

local budget = {}

-- Seconds of timing for each arm in a pass: without a budget, and the least and most with one.
local SLICE_S, SLICE_LEAST_S, SLICE_MOST_S = 0.05, 0.02, 0.5
-- Seconds on a GPU beside timing: of a cell (inputs, expected values), each of its arms
-- (buffers, loading, judging), and an arm in a pass (judging what it wrote). On an H200 an arm
-- took 0.27 s in its first pass, 0.09 s in a later one, 0.045 s of it timing (2,043 passes); and
-- each of the five places of its buffers takes 10 ms more where these have 840 MB.
local CELL_S, ARM_S, PASS_S = 0.3, 0.12, 0.08

local Budget = {}
Budget.__index = Budget

--- @tparam table plan list of {stage, cells, impls}
-- @tparam table how {passes, seconds = nil: all is run, skip = function(one, cell): it is not run}
function budget.new(plan, how)
  local self = setmetatable({ started = core.now(), seconds = how.seconds, passes = how.passes,
    left = {}, costs = {}, left_out = 0 }, Budget)
  for _, one in ipairs(plan) do
    self.left[one] = 0
    for _, cell in ipairs(one.cells) do
      local runs = not (how.skip and how.skip(one, cell))
      self.left[one] = self.left[one] + (runs and 1 or 0)
    end
    self.costs[one.stage] = { arm = ARM_S, pass = PASS_S }
  end
  return self
end

-- Seconds of a pass of a cell, without timing.
function Budget:pass_s(one, pass)
  local cost = self.costs[one.stage]
  return #one.impls * cost.pass + (pass == 1 and CELL_S + #one.impls * cost.arm or 0)
end

-- Seconds of a cell, without timing.
function Budget:cell_s(one)
  return self:pass_s(one, 1) + (self.passes - 1) * self:pass_s(one, 2)
end

-- Seconds without timing, and passes of arms, of all cells that are still to come.
function Budget:to_come()
  local seconds, arms = 0, 0
  for one, cells in pairs(self.left) do
    seconds = seconds + cells * self:cell_s(one)
    arms = arms + cells * #one.impls * self.passes
  end
  return seconds, arms
end

function Budget:rest()
  return self.seconds and self.seconds - (core.now() - self.started) or math.huge
end

-- Seconds of timing for each of so many passes of arms.
function Budget:slice_of(seconds, arms)
  if not self.seconds then return SLICE_S end
  return math.max(SLICE_LEAST_S, math.min(SLICE_MOST_S, seconds / math.max(1, arms)))
end

-- The same for those of a cell that begins.
function Budget:slice(one)
  local seconds, arms = self:to_come()
  return self:slice_of(self:rest() - seconds - self:cell_s(one), arms + #one.impls * self.passes)
end

-- What the pass took that has just ended tells what such a one costs.
function Budget:learn()
  local now, done = core.now(), self.current
  if not done then return end
  local took = (now - done.at) / #done.one.impls
  local cost = self.costs[done.one.stage]
  if done.pass == 1 then
    done.first = took
  else
    cost.pass = math.max(0, took - done.slice)
    cost.arm = math.max(0, done.first - took - CELL_S / #done.one.impls)
  end
  done.at = now
end

--- A cell of a stage begins, or another pass of it.
-- @tparam table one of the plan
-- @tparam integer pass from 1
-- @tparam[opt] boolean skipped nobody wants it
-- @treturn number|nil seconds of timing for each arm; nil: there is no time for it, or no wish
function Budget:begin(one, pass, skipped)
  self:learn()
  if pass == 1 then
    self.current = nil
    if skipped then return nil end
    self.left[one] = self.left[one] - 1
    local slice = self:slice(one)
    self.current = { one = one, at = core.now(), slice = slice }
  end
  local here = self.current
  here.pass = pass
  if self:rest() < self:pass_s(one, pass) + #one.impls * here.slice then
    self.left_out = self.left_out + 1
    self.current = nil
    return nil
  end
  return here.slice
end

--- Seconds that all cells to come take, about.
function Budget:estimate()
  local seconds, arms = self:to_come()
  return seconds + arms * self:slice_of(self:rest() - seconds, arms)
end

return budget
