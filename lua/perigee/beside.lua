--- A task's implementations beside what well-kept libraries and PyTorch do: one row for a task and
-- cell, with every implementation judged and timed in one run. tasks/table.lua prints them.
--
-- A row is plain data: {task, cell, seconds = what it took, arms = list of {impl, kind = "ours",
-- "library" or "torch", verdict, reason, median_us, ci95_us, samples, of_limit = share of the
-- limit, limit = its name, error, compared = what the error is of, detail = that check in words,
-- with the largest error in the task's own unit, library, version, note}}. The error is the largest
-- of the validator's checks: the norm of what is off over that of what the reference in float64
-- says, 0 where only equal is right.
-- @module perigee.beside

local core = require "perigee.core"
local device = require "perigee.device"
local judge = require "perigee.judge"
local units = require "perigee.units"

local beside = {}

--- PyTorch's ways, as implementations are called.
beside.TORCH = { "torch", "torch-compile", "torch-overhead", "torch-graph" }

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

local IS_TORCH = set_of(beside.TORCH)

--- Names of the implementations that are run: those that run by themselves, and with PyTorch.
-- @tparam table task
-- @tparam table ways names of PyTorch's, as in `TORCH`
-- @treturn table names; nil for a task without an expert
function beside.impls(task, ways)
  local all, names = set_of(task:impl_names()), {}
  if not all.expert then return nil end
  for _, impl in ipairs(task:select_impls()) do names[#names + 1] = impl.name end
  for _, name in ipairs(ways) do
    if all[name] then names[#names + 1] = name end
  end
  return names
end

-- ---- rows ----

--- Whether a value is a row, as far as what is made of one needs it.
function beside.is_row(value)
  if type(value) ~= "table" or type(value.task) ~= "string" or type(value.arms) ~= "table" then
    return false
  end
  for _, arm in ipairs(value.arms) do
    if type(arm) ~= "table" or type(arm.impl) ~= "string" or type(arm.verdict) ~= "string" then
      return false
    end
  end
  return #value.arms > 0
end

local function kind_of(record)
  if IS_TORCH[record.impl] then return "torch" end
  return record.lang == "lua" and "library" or "ours"
end

local function worst_check(record)
  local worst
  for _, check in ipairs(record.checks or {}) do
    if check.error and not (worst and worst.error >= check.error) then worst = check end
  end
  return worst or {}
end

local function arm_of(record)
  local time, efficiency = record.time or {}, record.efficiency or {}
  local library, check = record.library or {}, worst_check(record)
  return {
    impl = record.impl, kind = kind_of(record), verdict = record.verdict, reason = record.reason,
    hint = record.hint, median_us = time.median_us, ci95_us = time.ci95_us, samples = time.samples,
    of_limit = efficiency.of_limit, limit = efficiency.limit, error = check.error,
    compared = check.name, detail = check.detail, library = library.library,
    version = library.version, note = library.note,
  }
end

--- Rows of a list of tasks, made one by one in one session, whose processes serve all of them.
-- @tparam table list of {task, cell = name or nil, impls = names, set = {name = value} or nil}
-- @tparam table how {device, budget = seconds of timing for each implementation (0.15), progress =
--   function(text)}
-- @tparam function on_row called with each row as soon as it is complete
function beside.run(list, how, on_row)
  local session <close> = judge.session {
    device = device.spec(how.device or "auto"), budget = how.budget or 0.15,
    progress = how.progress, libraries = true,
    inputs = 1, -- who is compared here has nothing to hide
  }
  for _, one in ipairs(list) do
    local started, row = core.now(), { task = one.task.name, cell = one.cell, arms = {} }
    session:run(one.task, { cells = one.cell and { one.cell }, impls = one.impls, set = one.set,
      keep = true, alike = true }, function(record) table.insert(row.arms, arm_of(record)) end)
    row.seconds = core.now() - started
    on_row(row)
  end
end

-- ---- as Markdown ----

local function by_impl(row)
  local found = {}
  for _, arm in ipairs(row.arms) do found[arm.impl] = arm end
  return found
end

-- Of our own; the plain one where none has a time.
local function best_of(row)
  local best = row.arms[1]
  for _, arm in ipairs(row.arms) do
    local faster = arm.kind == "ours" and arm.median_us
      and not (best.median_us and best.median_us <= arm.median_us)
    if faster then best = arm end
  end
  return best
end

-- The arms that have a column, in their order; false for one that was not run.
local function columns_of(row)
  local found = by_impl(row)
  local arms = { row.arms[1], best_of(row), found.expert or false }
  for _, name in ipairs(beside.TORCH) do arms[#arms + 1] = found[name] or false end
  return arms
end

local function cell_text(arm, value, format)
  if not arm then return "-" end
  if arm.verdict ~= "passed" then return arm.verdict end
  return value and format(value) or "-"
end

local function time_text(arm) return cell_text(arm, arm and arm.median_us, units.time) end

local function share_text(arm) return cell_text(arm, arm and arm.of_limit, units.percent) end

local function error_text(arm)
  return cell_text(arm, arm and arm.error, function(value)
    return value == 0 and "0" or ("%.1e"):format(value):gsub("e([+-])0", "e%1")
  end)
end

local function title_of(row)
  return ("`%s`%s"):format(row.task, row.cell and " " .. row.cell or "")
end

-- What the values of a line are of: that of the first arm that says it.
local function named(arms, field)
  for _, arm in ipairs(arms) do
    if arm and arm[field] then return arm[field] end
  end
  return "-"
end

local function against(own, library)
  if not (library and library.median_us and own.median_us) then return "-" end
  return units.ratio(library.median_us / own.median_us)
end

local function time_cells(row)
  local arms = columns_of(row)
  local own, library = arms[2], arms[3]
  local cells = { title_of(row), time_text(arms[1]), own.impl, time_text(own),
    library and library.library and ("%s %s"):format(library.library, library.version) or "-",
    time_text(library), against(own, library) }
  for i = 4, #arms do cells[#cells + 1] = time_text(arms[i]) end
  return cells
end

local function value_cells(field, text)
  return function(row)
    local arms = columns_of(row)
    local cells = { title_of(row), named(arms, field) }
    for i, arm in ipairs(arms) do cells[i + 2] = text(arm) end
    return cells
  end
end

local WAYS = { "PyTorch", "compile", "reduce-overhead", "CUDA graph" }
local ARMS = { "naive", "ours", "library", table.unpack(WAYS) }

local TABLES = {
  { titles = { "time", "naive", "ours, best", "time", "library", "time",
    "ours against it", table.unpack(WAYS) }, cells = time_cells },
  { titles = { "share of the limit", "which", table.unpack(ARMS) },
    cells = value_cells("limit", share_text) },
  { titles = { "error", "of", table.unpack(ARMS) }, cells = value_cells("compared", error_text) },
}

local function line_of(cells) return "| " .. table.concat(cells, " | ") .. " |" end

-- Why a value is missing, a line for each implementation without a time.
local function reasons(rows, lines)
  for _, row in ipairs(rows) do
    for _, arm in ipairs(row.arms) do
      local why = arm.verdict ~= "passed" and ("%s: %s"):format(arm.verdict, arm.reason or "?")
        or not arm.median_us and "no time: the device has no clock" or nil
      if why then lines[#lines + 1] = ("- %s, %s: %s"):format(title_of(row), arm.impl, why) end
    end
  end
end

--- Rows as tables of Markdown: times, shares of the limit, errors; then what was not measured.
-- @tparam table rows
-- @treturn string
function beside.markdown(rows)
  local lines = {}
  for _, one in ipairs(TABLES) do
    lines[#lines + 1] = line_of(one.titles)
    lines[#lines + 1] = "|" .. (" --- |"):rep(#one.titles)
    for _, row in ipairs(rows) do lines[#lines + 1] = line_of(one.cells(row)) end
    lines[#lines + 1] = ""
  end
  reasons(rows, lines)
  return table.concat(lines, "\n"):gsub("\n+$", "") .. "\n"
end

return beside
