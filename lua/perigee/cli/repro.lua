--- `perigee repro RECORD`
-- @module perigee.cli.repro

local core = require "perigee.core"
local common = require "perigee.cli.common"
local comparison = require "perigee.comparison"
local device = require "perigee.device"
local explain = require "perigee.explain"
local judge = require "perigee.judge"
local knobs = require "perigee.knobs"
local progress = require "perigee.progress"
local report = require "perigee.report"
local repro = require "perigee.repro"
local store = require "perigee.store"
local units = require "perigee.units"

local command = {}

function command.configure(parser)
  parser:argument("record", "FILE.jsonl, FILE.jsonl:LINE, or the number of a record in the store")
  parser:option("--device", "where to run it (default: where it ran)"):argname("D")
  common.timeout(parser)
  parser:option("--budget", "seconds of timing"):argname("S"):default("0.5")
    :convert(common.positive("--budget"))
  parser:option("--db", "results store (default: $PERIGEE_DB, else ~/.local/share/perigee)")
    :argname("FILE")
  common.trust(parser)
  parser:flag("--json", "the new record as a JSON object on standard output")
  parser:flag("--full", "with --json: source texts and samples in the record")
end

local function time_text(row, value, time)
  if row.metric ~= "time" then return units.count(value) .. " instructions" end
  return ("%s (%s .. %s)"):format(units.time(value), units.time(time.ci95_us[1]),
    units.time(time.ci95_us[2]))
end

local function change(row)
  local text = ("%+.2f %%"):format(100 * (row.ratio - 1))
  if row.method == "exact" then return text end
  return ("%s (%+.2f .. %+.2f %%)"):format(text, 100 * (row.ratio_ci95[1] - 1),
    100 * (row.ratio_ci95[2] - 1))
end

local function show(whole, rec, row, notes, task)
  local out = common.out
  out(("%s, %s: %s, then %s"):format(rec.task, rec.impl, whole.verdict, rec.verdict))
  local purpose = rec.device:match("^sim") and "sim" or "default"
  local text = task:brief(rec.params, purpose)
  if text ~= "" then out("  " .. text) end
  if rec.knobs then out("  " .. knobs.text(rec.knobs)) end
  out(("  on %s, recorded %s"):format(explain.machine(rec), whole.at or "at an unknown time"))
  if rec.verdict ~= whole.verdict or rec.verdict ~= "passed" then
    if whole.reason then out("  then  " .. whole.reason) end
    for _, line in ipairs(explain.failure(rec, "  now   ")) do out(line) end
  end
  if row.metric then
    out("  then  " .. time_text(row, row.a, whole.time))
    out("  now   " .. time_text(row, row.b, rec.time))
    out("  change " .. change(row))
  end
  for _, note in ipairs(notes) do out("  note: " .. note) end
end

local function open_session(options, whole, line)
  local spec = device.spec(options.device or whole.device)
  local time = whole.time or {}
  return judge.session { device = spec, timeout = options.timeout, trust = options.trust,
    budget = options.budget, method = time.method, seed = whole.seed,
    progress = function(text) line:say(text) end }
end

--- @treturn integer exit status: 0 when the verdict is the same
function command.main(options)
  local db = store.path(options.db)
  local whole = repro.find(options.record, db)
  if math.type(whole.seed) ~= "integer" or math.type(whole.input_seed) ~= "integer" then
    core.error("invalid", "the record has no seed of its inputs",
      "it was written by an older version", options.record)
  end
  local line = progress.new(true)
  local session <close> = open_session(options, whole, line)
  local rec, extra, notes, task = repro.run(whole, session, db)
  line:clear()
  if options.json then
    common.out(report.json(options.full and store.whole(rec, extra) or rec))
  else
    show(whole, rec, comparison.pair(whole, rec, whole.samples_us, extra.samples), notes, task)
  end
  return rec.verdict == whole.verdict and 0 or 1
end

return command
