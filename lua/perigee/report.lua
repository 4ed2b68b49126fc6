--- What `run` and `check` print for people: aligned tables with units, and what each number means.
-- Everything is taken from records, so that the same can be said of stored ones.
-- @module perigee.report

local core = require "perigee.core"
local columns = require "perigee.columns"
local explain = require "perigee.explain"
local facts = require "perigee.facts"
local params = require "perigee.params"
local units = require "perigee.units"

local report = {}

local WIDTH = 120 -- of a line of facts

local function longest(names, title)
  local size = #title
  for _, name in ipairs(names) do size = math.max(size, #name) end
  return size
end

local function fact_text(value)
  if type(value) == "number" then return units.count(value) end
  return tostring(value)
end

-- A parameter's value, exactly.
local function value_text(value)
  if math.type(value) == "float" then return ("%.9g"):format(value) end
  return math.type(value) == "integer" and units.grouped(value) or tostring(value)
end

local function counter(rec, name)
  local value = rec.counters and rec.counters[name]
  return type(value) == "number" and value or 0
end

local function sum(rec, what)
  return counter(rec, "global_load_" .. what) + counter(rec, "global_store_" .. what)
end

local function quotient(a, b, text)
  return b > 0 and text(a / b) or "-"
end

-- Columns of a simulated record: {key, title, width, value(rec)}; those without a count are left
-- out.
local SIMULATED = {
  { key = "warp_instructions", title = "warp instr.", width = 12,
    has = function(rec) return counter(rec, "warp_instructions") > 0 end,
    value = function(rec) return units.count(counter(rec, "warp_instructions")) end },
  { key = "sectors", title = "sectors/req", width = 11,
    has = function(rec) return sum(rec, "requests") > 0 end,
    value = function(rec)
      return quotient(sum(rec, "sectors"), sum(rec, "requests"), function(q)
        return ("%.2f"):format(q)
      end)
    end },
  { key = "divergent", title = "divergent", width = 9,
    has = function(rec) return counter(rec, "branches") > 0 end,
    value = function(rec)
      return quotient(counter(rec, "divergent_branches"), counter(rec, "branches"), units.percent)
    end },
  { key = "collisions", title = "collisions", width = 10,
    has = function(rec) return counter(rec, "global_atomic_lanes") > 0 end,
    value = function(rec)
      return quotient(counter(rec, "global_atomic_collisions"), counter(rec, "global_atomic_lanes"),
        units.percent)
    end },
}

local function interval(time)
  return ("%s .. %s"):format(units.time(time.ci95_us[1]), units.time(time.ci95_us[2]))
end

local function speedup(rec)
  local _, ratio = next(rec.speedup or {})
  return ratio and units.ratio(ratio) or ""
end

-- A column that is blank for a record without a time.
local function of_time(title, width, text)
  return { title = title, width = width, right = true,
    value = function(r) return r.time and text(r.time) or "" end }
end

local function timed_columns(rec, base)
  local list = {
    of_time("median", 10, function(time) return units.time(time.median_us) end),
    of_time("95% interval", 22, interval),
    of_time("samples", 7, function(time) return tostring(time.samples) end),
  }
  local work = rec.work or {}
  if work.bytes then
    list[#list + 1] = { title = "GB/s", width = 6, right = true, value = function(r)
      return r.efficiency and r.efficiency.bandwidth and units.rate(r.efficiency.bandwidth)
    end }
  elseif work.flops then
    list[#list + 1] = { title = "Gflop/s", width = 7, right = true, value = function(r)
      return r.efficiency and r.efficiency.compute and units.rate(r.efficiency.compute)
    end }
  end
  if rec.efficiency and rec.efficiency.of_limit then
    list[#list + 1] = { title = "of limit", width = 8, right = true, value = function(r)
      return r.efficiency and r.efficiency.of_limit and units.percent(r.efficiency.of_limit)
    end }
  end
  if base then
    list[#list + 1] = { title = "vs " .. base, width = 6, right = true, value = speedup }
  end
  return list
end

local function simulated_columns(rec, shown)
  local list = { { title = "sim time", width = 9, right = true,
    value = function(r) return r.sim_wall_us and units.time(r.sim_wall_us) end } }
  for _, column in ipairs(SIMULATED) do
    if column.has(rec) then
      shown[column.key] = true
      list[#list + 1] = { title = column.title, width = column.width, right = true,
        value = function(r) return r.verdict == "passed" and column.value(r) or "" end }
    end
  end
  return list
end

-- A fact of records of one cell: one value where those that have it agree, else one for each;
-- nil when it is 0.
local function fact_of(records, name)
  local texts, first, differs, any = {}, nil, false, false
  for i, rec in ipairs(records) do
    local value = rec.facts[name]
    texts[i] = value == nil and "-" or fact_text(value)
    if value ~= nil then first = first or texts[i] end
    differs = differs or (value ~= nil and texts[i] ~= first)
    any = any or (value ~= nil and value ~= 0)
  end
  if not any then return nil, false end
  return name .. " " .. (differs and table.concat(texts, "/") or first), differs
end

-- Lines of at most WIDTH characters with the facts of records of one cell.
-- @treturn table,boolean lines, and whether a fact differs among the records
local function fact_lines(records, indent)
  local names, lines, line, several = {}, {}, nil, false
  for _, rec in ipairs(records) do
    for name in pairs(rec.facts) do names[name] = true end
  end
  for _, name in ipairs(params.names(names)) do
    local text, differs = fact_of(records, name)
    several = several or differs
    if text and line and #line + #text + 2 <= WIDTH then
      line = line .. ", " .. text
    elseif text then
      if line then lines[#lines + 1] = line .. "," end
      line = indent .. text
    end
  end
  lines[#lines + 1] = line
  return lines, several
end

local Run = {}
Run.__index = Run

--- Report of one task's run, row by row.
-- @tparam table task
-- @tparam table how {cells = names, impls = names, out = function(line), simulated = boolean,
--   swept = names of parameters that have a column, points = their values, missing = cells that are
--   left out, see Task:missing_cells}
function report.run(task, how)
  how.swept = how.swept or {}
  return setmetatable({ task = task, how = how, out = how.out, shown = {}, group = {} }, Run)
end

function Run:layout(rec)
  local list = {}
  local function add(column) list[#list + 1] = column end
  if #self.how.cells > 0 then
    add { title = "cell", width = longest(self.how.cells, "cell"),
      value = function(r) return r.cell end }
  end
  for _, name in ipairs(self.how.swept) do
    local texts = {}
    for i, point in ipairs(self.how.points) do texts[i] = value_text(point[name]) end
    add { title = name, width = longest(texts, name), right = type(rec.params[name]) == "number",
      value = function(r) return value_text(r.params[name]) end }
  end
  add { title = "implementation", width = longest(self.how.impls, "implementation"),
    value = function(r) return r.impl end }
  add { title = "verdict", width = 8, value = function(r) return r.verdict end }
  local more = self.how.simulated and simulated_columns(rec, self.shown)
    or timed_columns(rec, #self.how.impls > 1 and self.how.impls[1] or nil)
  for _, column in ipairs(more) do add(column) end
  return columns.new(list)
end

local function head(self, rec)
  local summary = self.task:summary()
  self.out(summary ~= "" and ("%s: %s"):format(self.task.name, summary) or self.task.name)
  self.out("  on " .. explain.machine(rec))
  if #self.how.cells == 0 and #self.how.swept == 0 then
    local purpose = self.how.simulated and "sim" or "default"
    self.out("  " .. self.task:brief(rec.params, purpose))
    local work = explain.work(rec)
    if work then self.out("  " .. work) end
  end
  self.out(("  seed %d"):format(rec.seed))
  self.out("")
end

-- What the records of a group have in common: the cell and the point of a sweep.
local function group_of(self, rec)
  local parts = { rec.cell or "" }
  for _, name in ipairs(self.how.swept) do parts[#parts + 1] = tostring(rec.params[name]) end
  return table.concat(parts, "\n")
end

-- Under the rows of a group: what is known of it.
local function end_group(self)
  local indent = #self.how.cells > 0 and longest(self.how.cells, "cell") + 4 or 2
  local lines, several = fact_lines(self.group, (" "):rep(indent))
  for _, line in ipairs(lines) do self.out(line) end
  self.shown.facts = self.shown.facts or #lines > 0
  self.shown.several = self.shown.several or several
  local apart = #lines > 0 or #self.how.swept == 0
  self.group = {}
  return apart
end

--- Print a record. Failures are explained under their row.
function Run:add(rec)
  local group = group_of(self, rec)
  if self.of and self.of ~= group and end_group(self) then self.out("") end
  self.of = group
  if not self.headed then
    head(self, rec)
    self.headed = true
  end
  -- What columns there are shows with the first record that passed.
  if not self.columns or (rec.verdict == "passed" and not self.complete) then
    self.columns = self:layout(rec)
    self.complete = rec.verdict == "passed"
    self.out(self.columns:header())
  end
  local values = {}
  for i, column in ipairs(self.columns.list) do values[i] = column.value(rec) or "" end
  self.out(self.columns:row(values))
  for _, line in ipairs(explain.failure(rec)) do self.out(line) end
  for _, line in ipairs(explain.findings(rec)) do self.out(line) end
  self.group[#self.group + 1] = rec
  self.last = rec.verdict == "passed" and rec or self.last
end

--- Cells that were not asked for by name and that this machine cannot run, a line for each reason.
-- @tparam table missing what Task:missing_cells returned
-- @treturn table lines
function report.missing(missing)
  local names, reasons, lines = {}, {}, {}
  for _, cell in ipairs(missing) do
    if not names[cell.reason] then
      names[cell.reason] = {}
      reasons[#reasons + 1] = cell.reason
    end
    table.insert(names[cell.reason], cell.name)
  end
  for i, reason in ipairs(reasons) do
    lines[i] = ("not run: %s: %s"):format(table.concat(names[reason], ", "), reason)
  end
  return lines
end

--- Print the legend.
function Run:finish()
  end_group(self)
  local missing = report.missing(self.how.missing or {})
  if #missing > 0 then self.out(self.headed and "" or self.task.name) end
  for _, line in ipairs(missing) do self.out("  " .. line) end
  if not self.last then return end
  self.out("")
  local lines = self.how.simulated and explain.simulated_legend(self.shown) or {}
  if self.last.time then
    lines = explain.timed_legend(self.last, #self.how.impls > 1 and self.how.impls[1] or nil)
  end
  for _, line in ipairs(explain.facts_legend(self.shown)) do lines[#lines + 1] = line end
  for _, line in ipairs(lines) do self.out("  " .. line) end
end

local function kernel_line(kernel)
  local parts = { kernel.name }
  if (kernel.registers or -1) >= 0 then
    parts[#parts + 1] = ("%d registers"):format(kernel.registers)
  end
  if (kernel.shared_bytes or 0) > 0 then
    parts[#parts + 1] = units.bytes(kernel.shared_bytes) .. " shared"
  end
  if (kernel.local_bytes or -1) > 0 then
    parts[#parts + 1] = units.bytes(kernel.local_bytes) .. " local memory a thread"
  end
  return table.concat(parts, ", ")
end

local function compile_line(rec)
  if not rec.compile_ms or rec.committed_ptx or rec.lang == "ptx" then return nil end
  return ("%.0f ms%s"):format(rec.compile_ms, rec.compile_cached and " (from the cache)" or "")
end

-- The export is untimed, so what it takes is shown: work may have been moved there.
local function export_line(rec)
  if not rec.export_us then return nil end
  for _, finding in ipairs(rec.findings) do
    if finding.kind == "slow_export" then return finding.text end
  end
  return units.time(rec.export_us) .. ", not part of the time"
end

local function time_lines(rec, add)
  if rec.time then
    local dropped = rec.time.discarded
    add("time", ("%s, 95%% interval %s, %d samples%s"):format(units.time(rec.time.median_us),
      interval(rec.time), rec.time.samples,
      dropped > 0 and (", %d dropped (the GPU was throttled)"):format(dropped) or ""))
    local rate = rec.efficiency and rec.efficiency.bandwidth
    if rate then add("bandwidth", units.rate(rate) .. " GB/s of compulsory traffic") end
    local share = rec.efficiency and rec.efficiency.of_limit
    if share then
      add("of limit", ("%s of the %s that doctor --measure found"):format(units.percent(share),
        rec.efficiency.limit))
    end
  elseif rec.sim_wall_us then
    add("sim time",
      units.time(rec.sim_wall_us) .. " on this computer's simulator: says nothing about a GPU")
    if counter(rec, "warp_instructions") > 0 then
      add("executed", units.count(counter(rec, "warp_instructions")) .. " warp instructions")
    end
  end
  add("export", export_line(rec))
end

-- How the kernels are made, as the audit saw it.
local function add_techniques(rec, add)
  local found, names = rec.audit and rec.audit.facts or {}, {}
  for _, name in ipairs(facts.TECHNIQUES) do
    if found[name] then names[#names + 1] = name:gsub("_", " ") end
  end
  for i, line in ipairs(columns.wrap(table.concat(names, ", "), WIDTH)) do
    add(i == 1 and "uses" or "", line)
  end
end

--- Report of one checked candidate.
-- @tparam table rec
-- @tparam table task
-- @tparam function out called with each line
function report.check(rec, task, out)
  out(("%s: %s (task %s)"):format(rec.source, rec.verdict, rec.task))
  local rows, width = {}, 10
  local function add(name, text)
    if not text then return end
    rows[#rows + 1] = { name, text }
    width = math.max(width, #name)
  end
  for _, line in ipairs(explain.failure(rec, "  ")) do out(line) end
  for _, line in ipairs(explain.findings(rec, "  ")) do out(line) end
  add("device", explain.machine(rec))
  if rec.verdict == "passed" then
    local purpose = rec.device:match("^sim") and "sim" or "default"
    add("checked", ("%d cases, each with its own seed; the last: %s"):format(rec.cases or 0,
      task:brief(rec.params, purpose)))
    if #(rec.checked_by or {}) > 1 then
      add("", "and on " .. rec.checked_by[2] .. ", for faults that a GPU does not see")
    end
    for _, check in ipairs(rec.checks) do
      add("", check.name .. ": " .. (check.detail or "right"))
    end
  end
  add("compiled", compile_line(rec))
  for _, kernel in ipairs(rec.kernels or {}) do add("kernel", kernel_line(kernel)) end
  add_techniques(rec, add)
  for _, name in ipairs(params.names(rec.facts or {})) do add(name, fact_text(rec.facts[name])) end
  time_lines(rec, add)
  add("seed", tostring(rec.seed))
  for _, row in ipairs(rows) do
    out(("  %s%s %s"):format(row[1], (" "):rep(width - #row[1]), row[2]))
  end
end

--- One record as a line of JSON.
function report.json(rec)
  return core.json_encode(rec)
end

return report
