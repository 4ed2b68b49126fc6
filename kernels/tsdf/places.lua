--- What the place of arrays in memory does to a time: the plain kernels of two languages, each in
-- several processes, all with the same inputs, and with the arrays elsewhere for each slice of
-- samples.
--
--     perigee kernels/tsdf/places.lua --cell base,r-2.0,r-0.25 --csv places.csv
--
-- README.md in this folder says what came out.

local argparse = require "argparse"
local case = require "perigee.case"
local cli = require "perigee.cli"
local common = require "perigee.cli.common"
local core = require "perigee.core"
local device = require "perigee.device"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local places = require "perigee.irregularity.places"
local progress = require "perigee.progress"
local report = require "perigee.irregularity.report"
local suite = require "perigee.irregularity.suite"
local tables = require "perigee.irregularity.tables"
local timing = require "perigee.timing"
local validate = require "perigee.validate"

local SAMPLES = 20 -- of a place

local parser = argparse("places.lua", "What the place of arrays in memory does to a time.")
parser:option("--device", "cuda:N"):argname("D"):default "auto"
parser:option("--stage", "only this one"):argname("NAME"):default "update"
  :convert(suite.named("--stage"))
parser:option("--cell", "these cells"):argname("A,B"):default "base,r-2.0,r-0.25"
  :convert(suite.named("--cell"))
parser:option("--impl", "these arms, the first to compare with"):argname("A,B"):default "cuda,rust"
  :convert(suite.named("--impl"))
parser:option("--processes", "of each arm (3)"):argname("N"):convert(common.count("--processes"))
parser:option("--places", "in each process (12)"):argname("N"):convert(common.count("--places"))
parser:option("--seed", "of the inputs"):argname("N"):convert(common.seed)
parser:option("--csv", "a row for each place"):argname("FILE")
local options = cli.options(parser, arg)

local task, line, rows = suite.task(options.stage), progress.new(true), {}
local impls = task:select_impls(suite.words(options.impl))
local cells = task:select_cells(suite.words(options.cell))
if options.csv then report.writable(options.csv) end

-- Processes that have loaded their kernel and were judged right, with buffers alike.
local function right_arms(session, cell)
  local arms, one, p = {}, nil, task:resolve { purpose = "default", cell = cell }
  for _, declared in ipairs(impls) do
    for process = 1, options.processes or 3 do
      arms[#arms + 1] = { impl = impl.choose(impl.resolve(task, declared)), p = p,
        process = process }
    end
  end
  session:build(arms, function()
    one = session:complete(case.make(task, p, session:seed_of(1)), true)
  end)
  local sets = session:sets_for(one, arms)
  for _, arm in ipairs(arms) do
    arm.case = one
    local failure = session:verify(arm, sets)
    if failure then core.error("environment", arm.impl.name .. ": " .. failure.reason) end
    timing.choose(arm, "cold")
  end
  session:settle()
  return arms
end

-- A slice of samples of an arm, in another place than the last.
local function slice(arm, cell, place)
  local reply, failure = timing.ask(arm, { method = "cold", samples = SAMPLES, warmup = 1,
    sets = timing.choose_sets(arm, SAMPLES, "cold"), guards = false, move = place > 1 })
  if not reply then core.error("environment", arm.impl.name .. ": " .. failure.reason) end
  local s = core.summarize(reply.us)
  rows[#rows + 1] = { stage = options.stage, cell = cell.name, arm = arm.impl.name,
    process = arm.process, place = place, median_us = s.median, stddev_us = s.stddev }
end

local function measure(cell)
  local session <close> = judge.session { device = device.spec(options.device), inputs = 1,
    seed = options.seed, progress = function(text) line:say(text) end }
  if not session:device().gpu_clock then
    core.error("environment", "the simulator has no clock", "--device cuda:0, on a GPU")
  end
  local arms = right_arms(session, cell)
  for place = 1, options.places or 12 do
    line:say(("%s: place %d"):format(cell.name, place))
    for i = 1, #arms do slice(arms[(i + place) % #arms + 1], cell, place) end
  end
end

validate.prepare(task)
for _, cell in ipairs(cells) do
  measure(cell)
  if options.csv then places.write(rows, options.csv) end
end
line:clear()
print(tables.sections.places { places = { rows = rows } })
