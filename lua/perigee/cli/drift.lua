--- `perigee drift SERIES`
-- @module perigee.cli.drift

local core = require "perigee.core"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local drift = require "perigee.drift"
local params = require "perigee.params"
local records = require "perigee.cli.records"
local units = require "perigee.units"

local command = {}

function command.configure(parser)
  parser:argument("series",
    "JSONL files or sessions of the results store, the attempts in their order"):args("+")
  records.configure(parser)
  parser:flag("--json", "one JSON object a line on standard output, a series each")
end

local function cost_text(cost, metric)
  if not cost then return "" end
  return metric == "time" and units.time(cost) or units.count(cost) .. " instr."
end

local WORDS = { failed = "", first = "first to pass", best = "best so far", same = "as the best",
  slower = "slower", unmeasured = "", fallback = "FALLBACK", lost = "LOST TECHNIQUES" }

-- Why an attempt counts as one that fell back.
local function reason(row, series)
  local parts = {}
  if row.status == "fallback" then
    local text = cost_text(row.cost, row.metric)
    local naive = cost_text(series.naive.cost, series.naive.metric)
    parts[1] = row.best and ("%s is nearer to naive's %s than to the %s of attempt %d"):format(text,
      naive, cost_text(row.best.cost, row.metric), row.best.number)
      or ("%s is no better than naive's %s"):format(text, naive)
  end
  if #row.lost > 0 then parts[#parts + 1] = "without " .. table.concat(row.lost, ", ") end
  if row.failures > 0 then
    parts[#parts + 1] = ("after %s that failed"):format(units.counted(row.failures, "attempt"))
  end
  return table.concat(parts, "; ")
end

local function ratio_text(ratio)
  return ratio and units.ratio(ratio) or ""
end

local function head(series)
  local parts = { series.task }
  if series.cell then parts[#parts + 1] = series.cell end
  if series.set then parts[#parts + 1] = params.text(series.set) end
  local naive = series.naive
  return ("%s on %s: %s%s"):format(table.concat(parts, ", "), series.device,
    units.counted(#series.attempts, "attempt"),
    naive and (", naive costs %s"):format(cost_text(naive.cost, naive.metric))
    or ", what naive costs is not known")
end

local COLUMNS = {
  { title = "attempt", right = true }, { title = "record", right = true },
  { title = "candidate" },
  { title = "verdict" }, { title = "cost", right = true }, { title = "over best", right = true },
  { title = "over naive", right = true }, { title = "" },
}

local function show(series)
  local rows, list, notes = {}, {}, {}
  for i, column in ipairs(COLUMNS) do
    list[i] = { title = column.title, right = column.right }
  end
  for i, row in ipairs(series.attempts) do
    rows[i] = { tostring(row.number), row.record and tostring(row.record) or "", row.impl or "",
      row.verdict, cost_text(row.cost, row.metric), ratio_text(row.vs_best),
      ratio_text(row.vs_naive), WORDS[row.status] }
    if row.status == "fallback" or row.status == "lost" then
      notes[#notes + 1] = ("  attempt %d: %s"):format(row.number, reason(row, series))
    end
  end
  common.out(head(series))
  common.out("")
  common.out(columns.text(list, rows))
  if #notes > 0 then common.out("") end
  for _, line in ipairs(notes) do common.out(line) end
end

--- @treturn integer exit status: 1 when a series ends with an attempt that fell back
function command.main(options)
  local list, status = records.read_all(options.series, options, drift.series), 0
  for i, series in ipairs(list) do
    if options.json then
      common.out(core.json_encode(series))
    else
      if i > 1 then common.out("") end
      show(series)
    end
    if series.ends == "fallback" or series.ends == "lost" then status = 1 end
  end
  if #list == 0 and not options.json then
    common.out("no series: no task has two attempts on one kind of device")
  end
  return status
end

return command
