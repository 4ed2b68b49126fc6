--- What the suite found, as text and CSV: times and ratios, counters, published figures, causes.
-- @module perigee.irregularity.report

local core = require "perigee.core"
local columns = require "perigee.columns"
local units = require "perigee.units"
local ablations = require "perigee.irregularity.ablations"
local causes = require "perigee.irregularity.causes"
local suite = require "perigee.irregularity.suite"

local report = {}

-- Arms as the published table names them.
local PUBLISHED = { cuda = "cuda", rust = "rust", ["triton-published"] = "triton" }

--- A file to write. @tparam[opt="w"] string mode of io.open @raise "io"
function report.opened(path, mode)
  local file, why = io.open(path, mode or "w")
  return file or core.error("io", ("cannot write '%s': %s"):format(path, why))
end

-- As many digits as a time has.
local function digits(value)
  return value and ("%.5g"):format(value) or ""
end

--- Whether a file can be written, before hours of a run and not after. What it holds stays.
-- @raise "io"
function report.writable(path)
  local info = path ~= "" and core.file_info(path)
  if info and info.type ~= "file" and info.type ~= "dir" then return end -- a pipe would end
  report.opened(path, "a"):close()
  if not info then os.remove(path) end
end

--- Write a table as CSV. @tparam table head names of columns @tparam table rows lists of values
function report.csv(path, head, rows)
  local file <close> = report.opened(path)
  file:write(table.concat(head, ","), "\n")
  for _, row in ipairs(rows) do
    local cells = {}
    for i = 1, #head do cells[i] = tostring(row[i] == nil and "" or row[i]) end
    file:write(table.concat(cells, ","), "\n")
  end
end

local function of_passes(middle, low, high)
  if not middle then return "" end
  return ("%.2f (%.2f .. %.2f)"):format(middle, low, high)
end

--- Print how many cells the budget left out.
function report.left_out(count)
  if count == 0 then return end
  print(units.counted(count, "cell") .. ", or some passes, did not fit into the budget")
end

-- ---- times ----

--- What was measured on an H200 with the harness of arXiv 2608.08287: "cell arm stage" ->
-- microseconds; `cells`, the names of its cells.
function report.published()
  local figures, seen = { cells = {} }, {}
  local text = core.read_file(core.home .. "/kernels/tsdf/published.csv") or ""
  for line in text:gmatch "[^\n]+" do
    local gpu, cell, arm, stage, us = line:match "^([^,]+),([^,]+),([^,]+),([^,]+),([%d.]+)$"
    if gpu == "h200" then
      figures[("%s %s %s"):format(cell, arm, stage)] = tonumber(us)
      if not seen[cell] then table.insert(figures.cells, cell) end
      seen[cell] = true
    end
  end
  return figures
end

local function published_of(one, figures)
  return figures and PUBLISHED[one.arm]
    and figures[("%s %s %s"):format(one.cell, PUBLISHED[one.arm], one.stage)]
end

-- The regular control of an arm's stage, in its language.
local function control_of(results, one)
  return suite.CONTROLS[one.stage]
    and results:find(suite.CONTROLS[one.stage], one.cell, one.arm:match "^%a+")
end

local function time_row(results, one, figures)
  local verdict, reason = suite.verdict_of(one)
  if verdict ~= "passed" then
    return { one.stage, one.cell, one.arm, verdict, "", "", "", (reason or ""):sub(1, 60) }
  end
  local us, peer = suite.time(one), results:peer(one)
  local control = control_of(results, one)
  local row = { one.stage, one.cell, one.arm, us and units.time(us) or "passed",
    of_passes(suite.ratio(one, peer)), one.peer and "of " .. one.peer or "",
    control and of_passes(suite.ratio(one, control)) or "" }
  local published = published_of(one, figures)
  if published and us then row[8] = ("%.2f of %.1f us"):format(us / published, published) end
  return row
end

--- Print times, the ratio to the arm of the same levers and that to the regular control.
-- @param results of suite.results
-- @tparam[opt] table figures what report.published gave
function report.times(results, figures)
  local rows = {}
  for i, one in ipairs(results:sorted()) do rows[i] = time_row(results, one, figures) end
  print(columns.text({ { title = "stage" }, { title = "cell" }, { title = "arm" },
    { title = "median", right = true }, { title = "ratio (passes)" }, { title = "" },
    { title = "of its control" }, { title = figures and "of published" or "" } }, rows,
    { indent = 0 }))
end

--- The same as CSV.
function report.times_csv(results, path)
  local rows = {}
  for i, one in ipairs(results:sorted()) do
    local ratio, low, high = suite.ratio(one, results:peer(one))
    local verdict = suite.verdict_of(one)
    rows[i] = { one.stage, one.cell, one.arm, verdict, verdict == "passed"
      and digits(suite.time(one)) or "", one.peer or "", digits(ratio), digits(low), digits(high),
      digits((suite.ratio(one, control_of(results, one)))) }
  end
  report.csv(path, { "stage", "cell", "arm", "verdict", "median_us", "compared_with", "ratio",
    "ratio_low", "ratio_high", "of_control" }, rows)
end

-- ---- counters ----

-- Counters that say where irregularity costs, for each sample of a ray.
local COUNTED = {
  { "instructions", function(c, n) return c.thread_instructions / n end },
  { "lanes", function(c) return c.thread_instructions / math.max(1, c.warp_instructions) end },
  { "load sectors", function(c, n) return c.global_load_sectors / n end },
  { "sectors/request", function(c) return c.global_load_sectors / math.max(1,
    c.global_load_requests) end },
  { "atomics", function(c, n) return c.global_atomic_lanes / n end },
  { "collisions", function(c, n) return c.global_atomic_collisions / n end },
  { "L1 hit %", function(c) return 100 * c.l1_hit_sectors / math.max(1, c.l1_sectors) end },
  { "L2 hit %", function(c) return 100 * c.l2_hit_sectors / math.max(1, c.l2_sectors) end },
}

local function counter_rows(results)
  local rows = {}
  for i, one in ipairs(results:sorted()) do
    local record = one.passes[1]
    local samples = record.facts and record.facts.samples or record.params and record.params.n or 1
    rows[i] = { one.stage, one.cell, one.arm }
    for k, column in ipairs(COUNTED) do
      rows[i][3 + k] = record.verdict ~= "passed" and (k == 1 and record.verdict or "")
        or ("%.2f"):format(column[2](record.counters, samples))
    end
  end
  return rows
end

--- Print what sim:profile counted.
function report.counters(results)
  local heads = { { title = "stage" }, { title = "cell" }, { title = "arm" } }
  for i, column in ipairs(COUNTED) do heads[3 + i] = { title = column[1], right = true } end
  print(columns.text(heads, counter_rows(results), { indent = 0 }))
  print("instructions, load sectors, atomics, collisions: of all threads, for each sample")
end

--- The same as CSV.
function report.counters_csv(results, path)
  local heads = { "stage", "cell", "arm" }
  for i, column in ipairs(COUNTED) do heads[3 + i] = column[1] end
  report.csv(path, heads, counter_rows(results))
end

-- ---- causes ----

-- What is counted of a variant, for each sample: issue slots as 32 for each instruction of a warp,
-- sectors and collisions of all threads.
local SAMPLED = {
  { "slots", function(c) return 32 * c.warp_instructions end },
  { "loads", function(c) return c.global_load_sectors end },
  { "atomics", function(c) return c.global_atomic_sectors end },
  { "stores", function(c) return c.global_store_sectors end },
  { "collide", function(c) return c.global_atomic_collisions end },
}

local function counted(from, to, samples, counters)
  local cells = {}
  for k, what in ipairs(SAMPLED) do
    local a, b = from and from[counters], to and to[counters]
    local has = a and (not to or b) and what[2](a)
    cells[k] = has and ("%.2f"):format((what[2](a) - (b and what[2](b) or 0)) / samples) or ""
  end
  return cells
end

local function row_of(one, found, samples, model)
  local from, to = found[one.from], found[one.to]
  local row = { "  " .. one.cause, one.cost and ("%.2f"):format(one.cost) or "",
    one.cost and ("%.0f%%"):format(100 * one.share) or "" }
  if model and from and to then
    local by_count = causes.modelled(model, from) - causes.modelled(model, to)
    row[4] = ("%.2f"):format(by_count)
  end
  for _, counters in ipairs { "counters", "ncu" } do
    for _, cell in ipairs(counted(from, to, samples, counters)) do row[#row + 1] = cell end
    if counters == "counters" then while #row < 4 + #SAMPLED do table.insert(row, 4, "") end end
  end
  row[#row + 1] = one.by or ""
  return row
end

local HEADS = { "stage, cell, cause", "us", "share", "by count" }

-- All columns of which any row has something.
local function print_rows(rows)
  local titles = table.move(HEADS, 1, #HEADS, 1, {})
  for _, counters in ipairs { "", "ncu " } do
    for _, what in ipairs(SAMPLED) do titles[#titles + 1] = counters .. what[1] end
  end
  titles[#titles + 1] = "left out by"
  local used, heads, shown = {}, {}, {}
  for k = 1, #titles do
    for _, row in ipairs(rows) do used[k] = used[k] or (row[k] or "") ~= "" end
  end
  for k, title in ipairs(titles) do
    if used[k] then heads[#heads + 1] = { title = title, right = k > 1 and k < #titles } end
  end
  for i, row in ipairs(rows) do
    shown[i] = {}
    for k = 1, #titles do
      if used[k] then table.insert(shown[i], row[k] or "") end
    end
  end
  print(columns.text(heads, shown, { indent = 0 }))
end

-- Rows of one stage in one cell. `found`: variant key -> {us, counters, ncu}.
local function rows_of(stage, cell, found, model, rows)
  local function cost(key) return found[key] and found[key].us end
  local list, whole = causes.split(stage, cost)
  local first = found[ablations.key(ablations.CHAIN[stage][1])]
  local head = row_of({ cause = "", cost = whole, share = 1, from = nil }, found, 1)
  local samples = first.samples
  local at = 4
  for _, counters in ipairs { "counters", "ncu" } do
    for _, text in ipairs(counted(first, nil, samples, counters)) do
      at = at + 1
      head[at] = text
    end
  end
  head[1] = ("%s, %s"):format(stage, cell)
  head[4] = model and ("%.2f"):format(causes.modelled(model, first)) or ""
  rows[#rows + 1] = head
  if not list then -- counted only
    list = causes.split(stage, function(key) return found[key] and 0 end) or {}
    for _, one in ipairs(list) do one.cost = nil end
  end
  for _, one in ipairs(list) do rows[#rows + 1] = row_of(one, found, samples, model) end
  for _, one in ipairs(causes.pairs_of(stage, whole and cost or function(key)
    return found[key] and 1
  end)) do
    one.cause, one.cost = "(" .. one.cause .. ")", whole and one.cost
    rows[#rows + 1] = row_of(one, found, samples, model)
  end
end

--- Print the split into causes.
-- @tparam table list of {stage, cell, found = key -> {us, counters, ncu, samples}}
-- @tparam table models stage -> what causes.fit gave
function report.causes(list, models)
  local rows = {}
  for _, one in ipairs(list) do rows_of(one.stage, one.cell, one.found, models[one.stage], rows) end
  print_rows(rows)
  print [[
slots: issue slots, 32 for each instruction of a warp; loads, atomics, stores: sectors of 32 bytes;
collide: lanes whose address another lane of the warp has: for each sample of a ray.
In parentheses: parts of what is above, or what leaving it out alone saves.]]
end

--- Print how well counts explain times.
function report.agreement(stage, agreement, model)
  print(("%s: times explained by counts within %.0f%% (median), %.0f%% at worst (%s), %s"):format(
    stage, 100 * agreement.typical, 100 * agreement.worst, agreement.of, agreement.cells > 1
      and "each cell by the others' weights" or "by the weights of this cell"))
  local parts = {}
  for k, counted_one in ipairs(causes.COUNTED) do
    if model.weights[k] > 0 then
      parts[#parts + 1] = ("%s %.3g"):format(counted_one[1], model.weights[k])
    end
  end
  print(("  us for a million: %s; launch %.2f us"):format(table.concat(parts, ", "), model.floor))
end

--- Print how the simulator's counters compare with those of hardware.
function report.hardware(list)
  local parts = {}
  for i, one in ipairs(list) do
    parts[i] = ("%s %.2f (%.2f .. %.2f)"):format(one.name, one.typical, one.least, one.most)
  end
  if #parts > 0 then print("simulator / hardware: " .. table.concat(parts, ", ")) end
end

--- The causes as CSV, and parts of them.
function report.causes_csv(list, path)
  local rows = {}
  for _, one in ipairs(list) do
    local function cost(key) return one.found[key] and one.found[key].us end
    local function add(parts)
      for _, part in ipairs(parts or {}) do
        rows[#rows + 1] = { one.stage, one.cell, (part.cause:gsub(",", "")), digits(part.cost),
          digits(part.share) }
      end
    end
    add(causes.split(one.stage, cost))
    add(causes.pairs_of(one.stage, cost))
  end
  report.csv(path, { "stage", "cell", "cause", "us", "share" }, rows)
end

-- ---- what data leaves out ----

-- Issue slots of a pass on sim:profile, for each sample.
local function slots_of(one)
  local record = one.passes[1]
  local samples = record and record.counters and record.facts and record.facts.samples
  return samples and ("%.1f"):format(32 * record.counters.warp_instructions / samples) or nil
end

local function figure_of(one, by_count)
  if not one then return "-" end
  local verdict = suite.verdict_of(one)
  if verdict ~= "passed" then return verdict end
  local us = suite.time(one)
  return by_count and slots_of(one) or us and units.time(us) or verdict
end

--- Print arms of every language on data that leaves causes out.
-- @tparam table variants list of {name, title, control = it is the regular control}
-- @tparam boolean by_count issue slots for each sample in place of times
function report.variants(results, variants, by_count)
  local heads, rows = { { title = "stage" }, { title = "cell" }, { title = "arm" } }, {}
  for _, variant in ipairs(variants) do
    heads[#heads + 1] = { title = variant.title, right = true }
  end
  for _, one in ipairs(results:sorted()) do
    if one.variant == variants[1].name then
      local row = { one.stage, one.cell, one.arm }
      for _, variant in ipairs(variants) do
        local other = results:find(variant.control and suite.CONTROLS[one.stage] or one.stage,
          one.cell, variant.control and one.arm:match "^%a+" or one.arm, variant.name)
        row[#row + 1] = figure_of(other, by_count)
      end
      rows[#rows + 1] = row
    end
  end
  print(columns.text(heads, rows, { indent = 0 }))
  if by_count then
    print "issue slots, 32 for each instruction of a warp, for each sample of a ray"
  end
end

--- The same as CSV.
function report.variants_csv(results, path)
  local rows = {}
  for i, one in ipairs(results:sorted()) do
    rows[i] = { one.stage, one.cell, one.arm, one.variant, (suite.verdict_of(one)),
      digits(suite.time(one)) }
  end
  report.csv(path, { "stage", "cell", "arm", "data", "verdict", "median_us" }, rows)
end

return report
