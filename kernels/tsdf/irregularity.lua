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
local charts = require "perigee.irregularity.charts"
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
parser:option("--cell", "only these cells"):argname("A,B"):convert(suite.named("--cell"))
parser:option("--stage", "only these stages"):argname("A,B"):convert(suite.named("--stage"))
parser:option("--impl", "only these arms, and those they are compared with"):argname("A,B")
  :convert(suite.named("--impl"))
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

-- The ways to run, the first that is asked for, and the options that each reads.
local MODES = {
  { "once", "device cell stage seed causes" },
  { "causes", "device cell stage passes seed csv json full counts ncu once" },
  { "eight", "device cell stage seed csv" },
  { "data", "device cell stage impl passes seed budget csv json" },
  { "estimate", "device cell stage impl passes budget controls published" },
  { "count", "device cell stage impl seed budget controls published csv json resume" },
  { "suite", "device cell stage impl passes seed budget controls published csv json resume "
    .. "charts" },
}

local function reads(mode, name)
  return (" %s "):format(mode[2]):find(" " .. name .. " ", 1, true) ~= nil
end

-- An option without effect is a mistake of who typed it.
local function check_options()
  local mode
  for _, one in ipairs(MODES) do
    local asked = options[one[1]] and (one[1] ~= "once" or options.causes)
    mode = mode or (asked or one[1] == "suite") and one
  end
  for name in pairs(options) do
    if name ~= mode[1] and not reads(mode, name) then
      local plain = mode[1] == "suite" -- what it does not read is for --causes
      pg.error("invalid", ("--%s is not for %s"):format(name, plain and "a plain run"
        or "--" .. mode[1]), plain and "it goes with --causes" or "leave it out")
    end
  end
  return mode[1]
end

-- Whether a file has a record, or that none was made.
local function has_record(text)
  for line in text:gmatch "[^\n]+" do
    local record = pg.json.decode(line)
    if suite.is_record(record) or type(record) == "table" and record.left_out then return true end
  end
  return not text:find "%S"
end

-- What would else be found out after hours.
local function check_files()
  for _, name in ipairs { "csv", "json" } do
    if options[name] then report.writable(options[name]) end
  end
  if options.charts then charts.prepare(options.charts) end
  if options.resume and not has_record(core.read_file(options.json) or "") then
    pg.error("invalid", ("there is no record in '%s'"):format(options.json),
      "--resume goes on with what an earlier --json wrote; without it the file is written anew")
  end
end

local way = check_options()
if #devices > 1 and (options.causes or options.eight or options.data) then
  pg.error("invalid", "--causes, --eight and --data run on one device", "--device " .. devices[1])
end
for _, spec in ipairs(way == "count" and devices or {}) do
  if not spec:match "^sim:profile" then
    pg.error("invalid", "--count counts on sim:profile, not on " .. spec, "leave --device out")
  end
end
if options.resume and not options.json then
  pg.error("invalid", "--resume goes with --json FILE", "it says where the records are")
end
check_files()

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
  local json <close> = options.json and report.opened(options.json, options.resume and "a") or nil
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
  if #plan == 0 then
    pg.error("not_found", "no stage has such an arm in such a cell",
      "leave out --stage, --cell or --impl")
  end
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
  if options.charts then charts.draw(results, options.charts) end
  if failed then core.error("environment", failed) end
  return results:failed() and 1 or 0
end

if options.causes then return require("perigee.irregularity.split").run(options) end
if options.eight then return require("perigee.irregularity.eight").run(options) end
if options.data then return require("perigee.irregularity.data").run(options) end
return run_suite()
