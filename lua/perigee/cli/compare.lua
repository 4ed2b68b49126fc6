--- `perigee compare A B`
-- @module perigee.cli.compare

local core = require "perigee.core"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local comparison = require "perigee.comparison"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local records = require "perigee.cli.records"
local units = require "perigee.units"

local compare = {}

local function percent(text)
  local value = tonumber(text)
  if value and value >= 0 and value < math.huge then return value end
  return nil, ("option '--fail-above': expected a percentage >= 0, got '%s'"):format(text)
end

function compare.configure(parser)
  parser:argument("a", "before: a JSONL file or a session of the results store")
  parser:argument("b", "after: the same")
  parser:option("--fail-above", "percent by which B may be slower; more is a regression")
    :argname("PCT"):default("5"):convert(percent)
  records.configure(parser)
  parser:flag("--json", "one JSON object a line on standard output")
end

-- ---- for people ----

local WORDS = {
  same = "", faster = "faster", slower = "slower", regression = "REGRESSION", broken = "BROKEN",
  mended = "mended", differs = "fails otherwise", unmeasured = "no figure in both",
  only_a = "only in A", only_b = "only in B",
}

-- What tells rows apart: cells, parameters and knobs where they differ.
local function varies(rows, text_of)
  for _, row in ipairs(rows) do
    if text_of(row) ~= text_of(rows[1]) then return true end
  end
  return false
end

local function value_text(row, value, verdict)
  if not verdict then return "-" end
  if not value then return verdict end
  if row.metric == "time" then return units.time(value) end
  return units.count(value) .. " instr."
end

local function change_text(ratio)
  return ("%+.2f %%"):format(100 * (ratio - 1))
end

local function cells_of(row, extra)
  local cells = { row.task, row.impl or "" }
  for _, text_of in ipairs(extra) do cells[#cells + 1] = text_of(row) end
  cells[#cells + 1] = value_text(row, row.a, row.verdict_a)
  cells[#cells + 1] = value_text(row, row.b, row.verdict_b)
  cells[#cells + 1] = row.ratio and change_text(row.ratio) or ""
  cells[#cells + 1] = row.ratio and row.method ~= "exact" and ("%s .. %s"):format(
    change_text(row.ratio_ci95[1]), change_text(row.ratio_ci95[2])) or ""
  cells[#cells + 1] = WORDS[row.status]
  return cells
end

local EXTRA = {
  { "cell", function(row) return row.cell or "" end },
  { "parameters", function(row) return params.text(row.params or {}) end },
  { "device", function(row) return row.device end },
  { "knobs", function(row) return knobs.text(row.knobs or {}) end },
}

local function print_table(rows)
  local list, extra = { { title = "task" }, { title = "implementation" } }, {}
  for _, one in ipairs(EXTRA) do
    if varies(rows, one[2]) then
      list[#list + 1] = { title = one[1] }
      extra[#extra + 1] = one[2]
    end
  end
  for _, title in ipairs { "A", "B", "change", "95% interval" } do
    list[#list + 1] = { title = title, right = true }
  end
  list[#list + 1] = { title = "" }
  local lines = {}
  for i, row in ipairs(rows) do lines[i] = cells_of(row, extra) end
  common.out(columns.text(list, lines))
end

local function head(letter, name, set)
  local gpus = #set.gpus > 0 and ", " .. table.concat(set.gpus, ", ") or ""
  local text = ("%s: %s, %s%s"):format(letter, name, units.counted(#set.keys, "evaluation"), gpus)
  if set.replaced > 0 then
    text = ("%s (of %d records the last of each counts)"):format(text, set.count)
  end
  common.out(text)
end

local ORDER = { "regression", "broken", "slower", "faster", "same", "mended", "differs",
  "unmeasured", "only_a", "only_b" }
local COUNTED = { same = "within chance" }

local function tally(counts, fail_above)
  local parts = {}
  for _, status in ipairs(ORDER) do
    if counts[status] then
      local word = COUNTED[status] or WORDS[status]:lower():gsub(" (%a)$", function(c)
        return " " .. c:upper()
      end)
      parts[#parts + 1] = ("%d %s"):format(counts[status], word)
    end
  end
  return ("%s; a regression is more than %g %% slower, and not by chance"):format(
    table.concat(parts, ", "), fail_above)
end

--- @treturn integer exit status: 1 when something is slower than allowed or fails in B only
function compare.main(options)
  local a = records.read(options.a, options, comparison.set)
  local b = records.read(options.b, options, comparison.set)
  local rows, counts = comparison.rows(a, b, options.fail_above)
  if #rows == 0 then core.error("invalid", "both sets are empty") end
  if options.json then
    for _, row in ipairs(rows) do
      if row.ratio_ci95 then row.ratio_ci95 = core.json_array(row.ratio_ci95) end
      common.out(core.json_encode(row))
    end
  else
    head("A", options.a, a)
    head("B", options.b, b)
    common.out("")
    print_table(rows)
    common.out("")
    common.out("  " .. tally(counts, options.fail_above))
  end
  return (counts.regression or counts.broken) and 1 or 0
end

return compare
