--- What irregularity costs, by language, and where it comes from: every stage of the TSDF workload
-- in every cell and arm, in one run, judged, timed and counted.
--
--     perigee kernels/tsdf/irregularity.lua                       all cells, three passes
--     perigee kernels/tsdf/irregularity.lua --cell base,r-2.0 --passes 1
--     perigee kernels/tsdf/irregularity.lua --published           as published, beside the figures
--     perigee kernels/tsdf/irregularity.lua --eight               the same, eight volumes at once
--     perigee kernels/tsdf/irregularity.lua --count               counters on sim:profile, no times
--     perigee kernels/tsdf/irregularity.lua --causes [--ncu]      the split into causes
--     perigee kernels/tsdf/irregularity.lua --data                other data, and the controls
--     ... --budget 250 [--estimate] --csv out.csv --json out.jsonl --resume --charts folder
--
-- An arm is compared with the CUDA C++ arm of the same levers, in the same run, cell and pass.
-- README.md in this folder explains the workload, the arms and the causes.

local argparse = require "argparse"
local cli = require "perigee.cli"
local common = require "perigee.cli.common"
local core = require "perigee.core"
local device = require "perigee.device"
local lanes = require "perigee.irregularity.lanes"
local pg = require "perigee"
local report = require "perigee.irregularity.report"
local suite = require "perigee.irregularity.suite"

local parser = argparse("irregularity.lua", "What irregularity costs, by language.")
parser:option("--device", "cuda:N, sim, ...; cuda:0+cuda:1: cells are shared out"):argname("D")
parser:option("--cell", "only these cells"):argname("A,B")
parser:option("--stage", "only these stages"):argname("A,B")
parser:option("--impl", "only these arms, and those they are compared with"):argname("A,B")
parser:option("--passes", "times that everything is run (3)"):argname("N")
  :convert(common.count("--passes"))
parser:option("--seed", "of the inputs"):argname("N"):convert(common.seed)
parser:option("--budget", "seconds for all of it, about"):argname("S")
  :convert(common.positive("--budget"))
parser:flag("--estimate", "only say how long it takes on a GPU")
parser:flag("--controls", "the regular controls, too")
parser:flag("--published", "weights, colours, cap and timing as published")
parser:flag("--eight", "as published, but all eight volumes in one launch")
parser:flag("--count", "counters on sim:profile in place of times")
parser:flag("--causes", "leave one cause after the other out")
parser:flag("--data", "arms on data that leaves causes out, beside their regular control")
parser:flag("--full", "with --causes: the sizes of a GPU on the simulator, too")
parser:option("--counts", "with --causes: counters from an earlier run's --json"):argname("FILE")
parser:flag("--ncu", "with --causes: hardware counters as well")
parser:flag("--once", "with --causes: launch each variant once, for a profiler")
parser:option("--csv", "the table as CSV"):argname("FILE")
parser:option("--json", "every record, one a line"):argname("FILE")
parser:flag("--resume", "go on with what the file of --json has")
parser:option("--charts", "SVG charts, by gnuplot"):argname("FOLDER")
local options = cli.options(parser, arg)
local devices = lanes.devices(options.device)
if options.causes or options.eight or options.data then
  for _, name in ipairs { "estimate", "resume" } do
    if options[name] then
      pg.error("invalid", ("--%s is not for --causes, --eight and --data"):format(name),
        "leave it out")
    end
  end
  if #devices > 1 then
    pg.error("invalid", "--causes, --eight and --data run on one device", "--device " .. devices[1])
  end
end
if options.resume and not options.json then
  pg.error("invalid", "--resume goes with --json FILE", "it says where the records are")
end

local function opened(path, mode)
  local file, why = io.open(path, mode)
  return file or pg.error("io", ("cannot write '%s': %s"):format(path, why))
end

-- Keep records, one a line. -> what is known: "pass stage cell arm"
local function recall(results, text)
  local known = {}
  for line in text:gmatch "[^\n]+" do
    local record = pg.json.decode(line)
    if suite.is_record(record) then
      results:add(record)
      known[("%d %s %s %s"):format(record.pass, record.stage, record.cell, record.impl)] = true
    end
  end
  return function(one, cell, passes)
    for _, arm in ipairs(one.impls) do
      if not known[("%d %s %s %s"):format(passes, one.stage, cell, arm)] then return false end
    end
    return true
  end
end

-- All cells here, one after the other. -> how many did not fit into the budget
local function run_here(plan, how, results)
  how.skip = recall(results, options.resume and core.read_file(options.json) or "")
  local json <close> = options.json and opened(options.json, options.resume and "a" or "w") or nil
  if json then json:setvbuf "line" end -- what a kill leaves can be resumed
  local left_out = suite.run(plan, how, function(record)
    results:add(record)
    if json then json:write(pg.json.encode(record), "\n") end
  end)
  if json then json:write(lanes.left_out(left_out)) end
  return left_out
end

-- The same on several devices at once. -> how many, and why one of them could not run
local function run_lanes(plan, _, results)
  local text, left_out, failed = lanes.run(options, plan, devices)
  recall(results, text)
  return left_out, failed
end

local function plan_of(figures, cells)
  local stages = suite.words(options.stage or figures and "allocate,update")
  return suite.plan { stages = stages, cells = cells,
    impls = suite.impls(suite.words(options.impl), suite.stages(stages)),
    controls = options.controls, set = figures and { compat = "published" } }
end

-- Seconds on a GPU, about: of the lane that takes the longest.
local function estimate(plan, figures, how)
  local seconds = 0
  for _, cells in ipairs(lanes.share(plan, math.max(1, #devices), how.passes)) do
    seconds = math.max(seconds, suite.estimate(plan_of(figures, cells), how))
  end
  return seconds
end

local function run_suite()
  local results = suite.results()
  for _, spec in ipairs(devices) do device.spec(spec) end
  local figures = options.published and report.published() or nil
  local plan = plan_of(figures, suite.words(options.cell) or figures and figures.cells)
  local how = {
    device = options.count and "sim:profile" or options.device, seed = options.seed,
    passes = options.passes or 3, budget = options.budget,
  }
  if options.estimate then
    print(("about %.0f s on a GPU"):format(estimate(plan, figures, how)))
    return 0
  end
  local run = #devices > 1 and run_lanes or run_here
  local left_out, failed = run(plan, how, results)
  if options.count then report.counters(results) else
    report.times(results, figures)
  end
  report.left_out(left_out)
  if options.csv then
    (options.count and report.counters_csv or report.times_csv)(results, options.csv)
  end
  if options.charts then require("perigee.irregularity.charts").draw(results, options.charts) end
  if failed then core.error("environment", failed) end
  return results:failed() and 1 or 0
end

if options.causes then return require("perigee.irregularity.split").run(options) end
if options.eight then return require("perigee.irregularity.eight").run(options) end
if options.data then return require("perigee.irregularity.data").run(options) end
return run_suite()
