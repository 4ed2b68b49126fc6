--- What `perigee tune` prints for people: each new best as it comes, and the table at the end.
-- @module perigee.report_tune

local columns = require "perigee.columns"
local explain = require "perigee.explain"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local units = require "perigee.units"

local report = {}

-- "200 configurations of BK, BM, BN (1152 without the constraints)"
local function size_of(tune)
  local space = tune.history.space
  local list = space.list()
  local count = list and #list or space.count
  local text = ("%s of %s"):format(units.counted(count, "configuration"),
    table.concat(space.names, ", "))
  if #space.names == 0 then text = "no knobs" end
  if count < space.count then
    text = ("%s (%s without the constraints)"):format(text, units.grouped(space.count))
  elseif not list and #tune.space.constraints > 0 then
    text = text .. ", constraints aside"
  end
  return text
end

--- Lines before the first evaluation.
function report.head(tune, out)
  out(("%s, %s: %s"):format(tune.task.name, tune.cell
    and ("%s, cell %s"):format(tune.base.name, tune.cell.name) or tune.base.name, size_of(tune)))
  out(("  on %s, %s"):format(tune.judge.spec, tune.judge:device().name))
  local text = params.text(tune.p)
  if text ~= "" then out("  " .. text) end
  out(("  pipeline %s, %s, seed %d"):format(tune.pipeline.shown,
    tune.budget and ("at most %d evaluations"):format(tune.budget) or "no limit of evaluations",
    tune.seed))
  out(("  session %s in %s"):format(tune.name, tune.store.path))
  if tune.counts.resumed > 0 then
    out(("  %d evaluations are there already"):format(tune.counts.resumed))
  end
  out("")
end

--- A line for an evaluation that is the best so far, or the first.
function report.improved(tune, entry, out)
  local first = tune.history.default
  local ratio = first and first.value and entry.value and entry ~= first
    and units.ratio(first.value / entry.value) .. " the default" or ""
  out(("  %4d  %12s  %-17s  %s"):format(entry.record.tune.number,
    entry.value and tune.objective.text(entry.value) or entry.verdict, ratio,
    knobs.text(entry.knobs)))
end

local function interval(row)
  if not row.time then return "" end
  return ("%s .. %s"):format(units.time(row.time.ci95_us[1]), units.time(row.time.ci95_us[2]))
end

local function ratio_text(row)
  if row.default then return "1 (default)" end
  if not row.ratio then return "" end
  local text = ("%.3fx"):format(row.ratio)
  if row.ratio_ci95 then
    text = ("%s (%.3f .. %.3f)"):format(text, row.ratio_ci95[1], row.ratio_ci95[2])
  end
  return text
end

local function table_of(tune, rows, measured)
  local list = { { title = tune.objective.title, right = true } }
  if measured then list[#list + 1] = { title = "95% interval", right = true } end
  list[#list + 1] = { title = measured and "against the default (95% interval)"
    or "against the default" }
  list[#list + 1] = { title = "configuration" }
  local lines = {}
  for i, row in ipairs(rows) do
    local cells = { row.value and tune.objective.text(row.value) or row.record.verdict }
    if measured then cells[#cells + 1] = interval(row) end
    cells[#cells + 1] = ratio_text(row)
    local text = row.entry.path and row.entry.path .. " " or ""
    cells[#cells + 1] = text .. knobs.text(row.entry.knobs)
    lines[i] = cells
  end
  return columns.text(list, lines)
end

-- "60 evaluations: 52 passed, 8 launch_error"
local function tally(tune)
  local parts, names = {}, {}
  for name in pairs(tune.counts.verdicts) do names[#names + 1] = name end
  table.sort(names, function(a, b)
    if (a == "passed") ~= (b == "passed") then return a == "passed" end
    return a < b
  end)
  for i, name in ipairs(names) do
    parts[i] = ("%d %s"):format(tune.counts.verdicts[name], name)
  end
  local text = units.counted(#tune.history, "evaluation")
  if #parts > 0 then text = text .. ": " .. table.concat(parts, ", ") end
  if tune.counts.resumed > 0 then
    text = ("%s; %d of them from the session"):format(text, tune.counts.resumed)
  end
  return text
end

local ENDS = {
  done = "the pipeline has nothing more to propose", budget = "the budget of evaluations is spent",
  seconds = "the time is up", interrupted = "interrupted",
}

-- The command that runs the best again.
local function command(tune, best)
  if best.entry.path or not next(best.entry.knobs) then return nil end
  local text = tune.candidate
    and ("perigee check %s %s"):format(tune.task_name, tune.candidate)
    or ("perigee run %s --impl %s"):format(tune.task_name, tune.base.name)
  for part in knobs.text(best.entry.knobs):gmatch("%S+") do text = text .. " --knob " .. part end
  return text
end

--- Lines at the end.
-- @tparam table tune
-- @tparam string reason what Tune:run returned
-- @tparam table rows what Tune:final returned
-- @tparam boolean measured
function report.tail(tune, reason, rows, measured, out)
  out("")
  out(("  %s (%s)"):format(tally(tune), ENDS[reason] or reason))
  if tune.counts.broken > 0 then
    out(("  %d proposals broke a constraint and were passed over"):format(tune.counts.broken))
  end
  if #rows == 0 then
    out("  no configuration passed")
    local entry = tune.history[1]
    for _, line in ipairs(entry and explain.failure(entry.record, "  ") or {}) do out(line) end
    return
  end
  out(measured and "  measured side by side, on fresh inputs:" or "  the best:")
  out("")
  out(table_of(tune, rows, measured))
  local text = command(tune, rows[1])
  if text then
    out("")
    out("  " .. text)
  end
end

return report
