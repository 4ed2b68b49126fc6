--- A case: one task at one set of parameters and one seed, with its inputs, buffers and expected
-- values. Everything here is the judge's own; only the buffers' contents go to a runner.
-- @module perigee.case

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local rng = require "perigee.rng"
local scratch = require "perigee.scratch"

local Case = {}
Case.__index = Case

local case = {}

-- Inputs and initial state by name; the state's contents are made when first asked for.
local function io_of(self)
  return setmetatable({}, {
    __index = function(_, name)
      local buffer = self.by_name[name]
      if not buffer or buffer.role == "output" then return nil end
      return buffers.contents(buffer)
    end,
    __pairs = function()
      local names, i = {}, 0
      for _, buffer in ipairs(self.list) do
        if buffer.role ~= "output" then names[#names + 1] = buffer.name end
      end
      return function(io)
        i = i + 1
        if names[i] then return names[i], io[names[i]] end
      end, self.io
    end,
  })
end

-- Names of a table of buffers, sorted.
local function names_of(declared, what, where)
  local names = {}
  for name in pairs(declared) do
    if type(name) ~= "string" then
      core.error("invalid", ("%s: expected buffers by name, got a %s"):format(what, type(name)),
        "write { x = ... }", where)
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function add(self, role, declared)
  for _, name in ipairs(names_of(declared or {}, ("task %s, %ss"):format(self.task.name, role),
    self.task.where)) do
    if self.by_name[name] then
      core.error("invalid", ("task %s: two buffers are called '%s'"):format(self.task.name, name),
        nil,
        self.task.where)
    end
    local buffer = buffers.normal(name, role, declared[name], self.task.where)
    self.by_name[name] = buffer
    self.list[#self.list + 1] = buffer
  end
end

-- In the order of the first signature, so that what is shown reads like the contract; others after.
local function sort(self)
  local place = {}
  for _, signature in ipairs(self.signatures) do
    for i, param in ipairs(signature.params) do place[param.name] = place[param.name] or i end
  end
  table.sort(self.list, function(a, b)
    local pa, pb = place[a.name] or 1000, place[b.name] or 1000
    if pa ~= pb then return pa < pb end
    return a.name < b.name
  end)
end

local function make(task, p, seed, family, inputs_of)
  local self = setmetatable({
    task = task, p = p, seed = seed, family = family, list = {}, by_name = {},
    signatures = task:contract(p),
  }, Case)
  self.io = io_of(self)
  add(self, "input", inputs_of(rng.new(seed)))
  add(self, "state", task:call("state", p, self.io))
  add(self, "output", task:call("outputs", p, self.io))
  sort(self)
  return self
end

--- Make a case.
-- @tparam table task
-- @tparam table p resolved parameters
-- @tparam integer seed
-- @tparam[opt] string family of values that inputs get, see perigee.families
function case.make(task, p, seed, family)
  return make(task, p, seed, family, function(draw)
    local inputs = task:call("inputs", p, draw)
    if family then require("perigee.families").apply(inputs or {}, family) end
    return inputs
  end)
end

--- A case whose inputs are as large as those of another, by the task's field `renew`; nil where the
-- task has none.
-- @tparam table one a case
-- @tparam integer seed
function case.like(one, seed)
  if not one.task.renew then return nil end
  return make(one.task, one.p, seed, nil, function(draw)
    local inputs = {}
    for _, buffer in ipairs(one.list) do
      if buffer.role == "input" then inputs[buffer.name] = one.io[buffer.name] end
    end
    for name, input in pairs(one.task:call("renew", one.p, one.io, draw) or {}) do
      if not inputs[name] then
        core.error("invalid", ("task %s, renew: '%s' is no input"):format(one.task.name,
          tostring(name)), "return inputs by name, those that differ", one.task.where)
      end
      inputs[name] = input
    end
    return inputs
  end)
end

-- A list, a number or an array -> an array with as many elements as the buffer.
local function as_array(value, buffer, task)
  local array = value
  if type(value) == "number" then value = { value } end
  if type(value) == "table" then
    array = core.array("f64", #value)
    for i, item in ipairs(value) do array[i - 1] = item end
  elseif not core.is_array(value) then
    core.error("invalid", ("task %s, reference: '%s' is a %s"):format(task.name, buffer.name,
      type(value)), "return arrays, lists or numbers by name", task.where)
  end
  if array.count ~= buffer.count then
    core.error("invalid", ("task %s, reference: '%s' has %d elements, the buffer has %d"):format(
      task.name, buffer.name, array.count, buffer.count), nil, task.where)
  end
  return array
end

--- Expected values by name, computed once. Names that are no buffers are left as the reference made
-- them.
function Case:expected()
  if self.wanted then return self.wanted end
  local wanted = self.task:call("reference", self.p, self.io)
  if not wanted then
    core.error("invalid", ("task %s, reference: it returned nothing"):format(self.task.name),
      "return the expected values by name: { y = ... }", self.task.where)
  end
  self.wanted = {}
  for name, value in pairs(wanted) do
    local buffer = self.by_name[name]
    self.wanted[name] = buffer and as_array(value, buffer, self.task) or value
  end
  return self.wanted
end

--- Names of buffers with expected values, in buffer order.
function Case:checked_names()
  local names = {}
  for _, buffer in ipairs(self.list) do
    if buffer.role ~= "input" and self:expected()[buffer.name] ~= nil then
      names[#names + 1] = buffer.name
    end
  end
  return names
end

--- Compulsory work {bytes, flops, items}; empty when the task does not say.
function Case:work()
  if not self.work_done then
    self.work_done = self.task:call("work", self.p, self.io, self:expected()) or {}
  end
  return self.work_done
end

--- Numbers of the task to show beside the result.
function Case:facts()
  return self.task:call("facts", self.p, self.io, self:expected()) or {}
end

--- The buffers a runner gets: the case's own and an implementation's scratch.
-- @tparam table impl
-- @tparam boolean own every set has its own copy of scratch (see perigee.scratch)
function Case:buffers_for(impl, own)
  local list = table.move(self.list, 1, #self.list, 1, {})
  local more = scratch.list(impl, self, own)
  return table.move(more, 1, #more, #list + 1, list)
end

--- Bytes that one set of state and outputs takes on the device.
-- @tparam[opt] table impl whose scratch counts, too
-- @tparam[opt] boolean own
function Case:set_bytes(impl, own)
  local bytes = impl and scratch.set_bytes(scratch.list(impl, self, own)) or 0
  for _, buffer in ipairs(self.list) do
    if buffer.role ~= "input" then bytes = bytes + buffer.bytes end
  end
  return bytes
end

return case
