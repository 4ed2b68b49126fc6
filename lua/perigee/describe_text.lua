--- `perigee describe` for people: the table of perigee.describe in sections of at most 100 columns.
-- @module perigee.describe_text

local columns = require "perigee.columns"
local describe = require "perigee.describe"
local params = require "perigee.params"
local units = require "perigee.units"

local text = {}

local WIDTH = 100

local function indented(block)
  return (block:gsub("^%s*\n", ""):gsub("%s+$", ""):gsub("([^\n]+)", "  %1"))
end

local function say_wrapped(out, head, words)
  for i, line in ipairs(columns.wrap(words, WIDTH - #head)) do
    out((i == 1 and head or (" "):rep(#head)) .. line)
  end
end

local function section(out, title)
  out("")
  out(title)
end

-- A table whose last column is prose: it is wrapped into what the others leave.
local function say_table(out, titles, rows)
  local list, used = {}, 2
  for i, title in ipairs(titles) do
    local width = #title.title
    for _, row in ipairs(rows) do width = math.max(width, utf8.len(row[i] or "") or 0) end
    list[i] = { title = title.title, right = title.right, width = i < #titles and width or nil }
    if i < #titles then used = used + width + 2 end
  end
  local room = math.max(24, WIDTH - used)
  local set = columns.new(list)
  out(set:header())
  for _, row in ipairs(rows) do
    local lines = columns.wrap(row[#titles] or "", room)
    row[#titles] = lines[1]
    out(set:row(row))
    for i = 2, #lines do out(set:row { [#titles] = lines[i] }) end
  end
end

local function say_buffers(d, out)
  section(out, "Buffers (sizes at the defaults of the parameters)")
  local rows, unnamed = {}, false
  for i, b in ipairs(d.buffers) do
    rows[i] = { b.name, b.role, ("%s[%s]"):format(b.dtype, table.concat(b.shape, ", ")),
      b.bytes and units.bytes(b.bytes) or "*", b.before }
    unnamed = unnamed or not b.bytes
  end
  say_table(out, { { title = "name" }, { title = "role" }, { title = "elements" },
    { title = "size", right = true }, { title = "before the run" } }, rows)
  local seen, notes = {}, {}
  for _, b in ipairs(d.buffers) do seen[b.role] = true end
  if seen.input then notes[#notes + 1] = "Inputs must not be written." end
  if seen.state then notes[#notes + 1] = "State is reset, untimed, before each run." end
  if seen.output then
    notes[#notes + 1] = "Outputs hold garbage before each run: every element must be written."
  end
  say_wrapped(out, "  ", table.concat(notes, " "))
  if unnamed then out("  *: as many as at the simulator's size") end
end

local function say_launch(d, out)
  section(out, "Launch (at the defaults)")
  for _, line in ipairs(d.launch) do out("  " .. line) end
  local parts = {}
  for i, s in ipairs(d.scalars) do
    parts[i] = ("%s = %s"):format(s.name, describe.value(s.value))
  end
  if #parts > 0 then say_wrapped(out, "  scalars: ", table.concat(parts, ", ")) end
end

local CHECK_WIDE = 32 -- columns; longer lists of check stand with what is said of the parameter

-- Where sim says nothing of its own, the last of check is used.
local function say_params(d, out)
  if #d.params == 0 then return end
  section(out, "Parameters (check: sizes of `perigee check`; sim: on the simulator)")
  local rows = {}
  for i, p in ipairs(d.params) do
    local parts = { p.doc }
    if p.variant then parts[#parts + 1] = "each choice is a contract" end
    if not p.range:match("^any ") then parts[#parts + 1] = p.range end
    if p.only then parts[#parts + 1] = "where " .. p.only end
    local check = describe.value(p.check)
    if #check > CHECK_WIDE then
      parts[#parts + 1] = "check: " .. check
      check = ("%d values"):format(#p.check)
    end
    rows[i] = { p.name, describe.value(p.default), check, describe.value(p.sim),
      table.concat(parts, "; ") }
  end
  say_table(out, { { title = "name" }, { title = "default", right = true }, { title = "check" },
    { title = "sim" }, { title = "meaning and range" } }, rows)
end

local FEW = 8

-- Few cells with what they set, many by name, a line an axis.
local function say_cells(d, out)
  if #d.cells == 0 then return end
  section(out, ("Cells (perigee run %s does all, --cell A,B some)"):format(d.name))
  if #d.cells <= FEW then
    for _, cell in ipairs(d.cells) do
      say_wrapped(out, ("  %s: "):format(cell.name), describe.settings(cell.set or {}))
    end
    return
  end
  local axes, by_axis = {}, {}
  for _, cell in ipairs(d.cells) do
    local axis = cell.axis or "cells"
    if not by_axis[axis] then
      by_axis[axis] = {}
      axes[#axes + 1] = axis
    end
    table.insert(by_axis[axis], cell.name)
  end
  for _, axis in ipairs(axes) do
    say_wrapped(out, ("  %s: "):format(axis), table.concat(by_axis[axis], ", "))
  end
end

local function say_sweeps(d, out)
  if #d.sweeps == 0 then return end
  section(out, ("Sweeps (perigee run %s --sweep NAME)"):format(d.name))
  for _, one in ipairs(d.sweeps) do
    say_wrapped(out, ("  %s: "):format(one.name), describe.settings(one.set)
      .. (one.doc and " -- " .. one.doc or ""))
  end
end

local function say_judging(d, out)
  section(out, "Judging")
  local values = d.checks.families
  local also = table.concat(d.checks.also, "; ")
  say_wrapped(out, "  ", ("%s with %d seeds each%s, then the timed size%s; sim:check looks "
    .. "at every access, too"):format(units.counted(d.checks.sizes, "size"), d.checks.seeds,
    #values == 0 and "" or (", one with %s values"):format(
    table.concat(values, ", ")), also == "" and "" or (", with %s and as it is timed"):format(
    also)))
  for _, one in ipairs(d.validate) do
    local options = one.options ~= "" and (" (%s)"):format(one.options) or ""
    out(("  validator %s%s"):format(one.name, options))
    for _, t in ipairs(one.tolerances or {}) do
      say_wrapped(out, "    ", ("%s: within %s, at the simulator's size"):format(t.name, t.text))
    end
  end
  for _, one in ipairs(d.require) do say_wrapped(out, "  its PTX must have ", one.text) end
  for _, one in ipairs(d.forbid) do say_wrapped(out, "  its PTX must not have ", one.text) end
  say_wrapped(out, "  timed ", d.time.text or d.time.method)
  local work, parts = d.work or {}, {}
  if work.bytes then parts[#parts + 1] = units.bytes(work.bytes) .. " moved" end
  if work.flops then parts[#parts + 1] = units.count(work.flops) .. " operations" end
  if work.items then parts[#parts + 1] = units.count(work.items) .. " items" end
  if #parts > 0 then
    say_wrapped(out, "  ", "work that no candidate can avoid, at the defaults: "
      .. table.concat(parts, ", "))
  end
end

-- The knobs of an implementation, each with its values, the default first.
local function say_knobs(impl, out)
  local parts = {}
  for _, name in ipairs(params.names(impl.knobs or {})) do
    local values = {}
    for i, value in ipairs(impl.knobs[name]) do values[i] = tostring(value) end
    parts[#parts + 1] = ("%s = %s"):format(name, table.concat(values, " | "))
  end
  if #parts == 0 then return end
  say_wrapped(out, "  ", ("knobs of %s (--knob NAME=VALUE, perigee tune): "):format(impl.name)
    .. table.concat(parts, ", "))
end

local function say_impls(d, out)
  if #d.impls == 0 then return end
  section(out, "Implementations that come with it")
  local rows = {}
  for i, impl in ipairs(d.impls) do
    local doc = impl.doc or ""
    if impl.only then doc = doc .. (" (only %s)"):format(impl.only) end
    rows[i] = { impl.name, impl.lang, impl.file, doc }
  end
  say_table(out, { { title = "name" }, { title = "language" }, { title = "file" },
    { title = "" } }, rows)
  for _, impl in ipairs(d.impls) do say_knobs(impl, out) end
end

local function say_contract(d, out, title)
  out(("%s  (category %s, level %s, %s)"):format(d.name, d.category, d.level, d.file))
  out("")
  if d.doc ~= "" then out(indented(d.doc)) end
  section(out, title)
  out("")
  out(indented(d.skeleton))
  say_buffers(d, out)
  say_launch(d, out)
  say_params(d, out)
end

local function say_forms(d, out)
  section(out, "A candidate is")
  for _, form in ipairs(d.candidates) do say_wrapped(out, "  - ", form) end
end

--- What a writer of one candidate needs, without what the command line adds.
-- @tparam table d what describe.table returned
-- @tparam function out called with each line
function text.contract(d, out)
  say_contract(d, out, "Contract: a file to start from")
  say_judging(d, out)
  say_forms(d, out)
end

--- Print the description.
-- @tparam table task
-- @tparam function out called with each line
-- @tparam[opt] table set {name = value}: the contract of these parameters
function text.print(task, out, set)
  local d = describe.table(task, set)
  say_contract(d, out, ("Contract (a file to start from: perigee describe %s --skeleton > mine.cu)")
    :format(d.name))
  say_cells(d, out)
  say_sweeps(d, out)
  say_judging(d, out)
  say_impls(d, out)
  say_forms(d, out)
  section(out, "Check it")
  out("  " .. d.check)
end

return text
