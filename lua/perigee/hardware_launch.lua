-- What perigee.hardware runs under ncu: perigee hardware_launch.lua FILE.json. Makes the inputs of
-- a task and runs the steps of a plan once. It judges nothing and has no expected values.
local core = require "perigee.core"
local buffers = require "perigee.buffers"
local case = require "perigee.case"
local catalogue = require "perigee.catalogue"
local device = require "perigee.device"
local files = require "perigee.files"
local impl = require "perigee.impl"
local seeds = require "perigee.seeds"

local function task_of(what)
  for _, one in ipairs(what.file and catalogue.load(what.file) or {}) do
    if one.name == what.task then return one end
  end
  return catalogue.find(what.task)[1]
end

local function value_of(argument, held)
  if argument.buffer then return held[argument.buffer + 1] end
  return argument.i or argument.f or argument.u
end

local what = assert(core.json_decode(files.read(arg[1])))
local task = task_of(what)
local made = case.make(task, task:resolve { purpose = "default", set = what.set },
  seeds.fresh())
local one = impl.choose(impl.candidate(what.candidate), what.knobs, true)
local dev, held = device.open(what.device), {}
for i, buffer in ipairs(made:buffers_for(one)) do
  held[i] = dev:upload(buffers.contents(buffer))
end
local module = dev:load(what.ptx, "candidate")
for _, step in ipairs(what.plan) do
  if step.memset then
    local buffer = held[step.memset + 1]
    if step.bytes ~= buffer.nbytes then
      core.error("unsupported", "a part of a buffer is filled")
    end
    buffer:fill(step.byte)
  else
    local args = {}
    for i, argument in ipairs(step.args) do args[i] = value_of(argument, held) end
    module:kernel(step.launch):launch { grid = step.grid, block = step.block, args = args,
      shared = step.shared, cooperative = step.cooperative }
  end
end
dev:sync()
