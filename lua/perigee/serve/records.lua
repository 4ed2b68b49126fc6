--- Tools that look at the results store: diff, history, leaderboard. They only read it.
-- @module perigee.serve.records

local core = require "perigee.core"
local catalogue = require "perigee.serve.catalogue"
local comparison = require "perigee.comparison"
local facts = require "perigee.facts"
local files = require "perigee.files"
local linediff = require "perigee.linediff"
local outcome = require "perigee.serve.outcome"
local params = require "perigee.params"
local standings = require "perigee.standings"
local store = require "perigee.store"
local units = require "perigee.units"

local tools = {}

local LIMIT, DIFF_LINES = 20, 80

-- The store, or nil when there is none yet.
local function opened(request)
  local path = request.options.db
  return files.is_file(path) and store.open(path, { readonly = true }) or nil
end

--- A cost with its unit.
function tools.cost_text(cost, unit)
  if not cost then return "" end
  return unit == "us" and units.time(cost) or units.count(cost) .. " warp instructions"
end

-- Whose session a record belongs to.
local function session_of(from, number)
  local next_row, rows <close> = from.db:rows([[SELECT s.name AS name FROM records r
    JOIN sessions s ON s.id = r.session WHERE r.id = ?]], number)
  local row = next_row(rows)
  return row and row.name
end

-- Whether a task shows no source of its implementations; one that is not there any more does not.
local function is_closed(name)
  local known, task = pcall(catalogue.task, name)
  return not known or task.closed or false
end

--- One attempt with its sources: of this session, for what others wrote is not theirs to read who
-- are to write something of their own; of any session with --share.
-- @raise "not_found"
function tools.attempt(number, request)
  local from <close> = opened(request)
  local session = from and session_of(from, number)
  if not session then
    core.error("not_found", ("there is no attempt %d"):format(number),
      "check, time and submit make attempts; history lists them")
  end
  if session ~= request.options.session and not request.options.share then
    core.error("not_found", ("attempt %d is of another session"):format(number),
      "history lists those of this one; perigee serve --share shows all")
  end
  local whole = from:record(number)
  if whole.kind ~= "check" and (not request.options.share or is_closed(whole.task)) then
    core.error("not_found", ("%d is no attempt, but the task's implementation %s"):format(number,
      whole.impl), "describe_task shows its source, where the task allows that")
  end
  return whole
end

-- ---- diff ----

local function texts_of(whole)
  local by_name, names = {}, {}
  for i, source in ipairs(whole.sources or {}) do
    local name = i == 1 and "source" or source.name -- the main file, whatever it was called
    by_name[name] = whole.source_texts and whole.source_texts[source.sha] or ""
    names[#names + 1] = name
  end
  return by_name, names
end

local function source_diff(a, b, most)
  local before, names = texts_of(a)
  local after, others = texts_of(b)
  for _, name in ipairs(others) do
    if not before[name] then names[#names + 1] = name end
  end
  local lines = {}
  for _, name in ipairs(names) do
    local changed = linediff.lines(before[name] or "", after[name] or "")
    if #changed > 0 and name ~= "source" then lines[#lines + 1] = "--- " .. name end
    table.move(changed, 1, #changed, #lines + 1, lines)
  end
  local left = #lines - most
  local text = table.concat(lines, "\n", 1, math.min(most, #lines))
  if left > 0 then text = ("%s\n... %d lines more"):format(text, left) end
  return text
end

local function techniques(a, b)
  local list = core.json_array {}
  local has, lacks = a.audit and a.audit.facts or {}, b.audit and b.audit.facts or {}
  for _, name in ipairs(facts.TECHNIQUES) do
    if has[name] and not lacks[name] then list[#list + 1] = name end
  end
  return list
end

local function change(lines, what, before, after)
  if before ~= after and not (before == nil and after == 0) then
    lines[#lines + 1] = ("%s: %s -> %s"):format(what, before or "-", after or "-")
  end
end

local function kernel_lines(lines, a, b)
  local by_name = {}
  for _, kernel in ipairs(a.kernels or {}) do by_name[kernel.name] = kernel end
  for _, kernel in ipairs(b.kernels or {}) do
    local old = by_name[kernel.name] or {}
    for _, field in ipairs { "registers", "shared_bytes", "local_bytes" } do
      change(lines, ("%s, %s"):format(kernel.name, (field:gsub("_", " "))), old[field],
        kernel[field])
    end
  end
end

-- Counts of the audit, kernels, counters: what differs, a line each.
local function fact_lines(a, b)
  local lines = core.json_array {}
  kernel_lines(lines, a, b)
  local has, gets, names = a.audit and a.audit.facts or {}, b.audit and b.audit.facts or {}, {}
  for _, set in ipairs { has, gets } do
    for name in pairs(set) do names[name] = true end
  end
  for _, name in ipairs(params.names(names)) do
    change(lines, (name:gsub("_", " ")) .. " instructions", has[name] and has[name].count,
      gets[name] and gets[name].count)
  end
  local counts = a.counters and b.counters and b.counters or {}
  for _, name in ipairs(params.names(counts)) do
    if type(counts[name]) == "number" then
      change(lines, (name:gsub("_", " ")), a.counters[name], counts[name])
    end
  end
  return lines
end

local function time_of(a, b)
  local row = comparison.pair(a, b, a.samples_us, b.samples_us)
  if not row.ratio then return { status = row.status } end
  return { ratio = row.ratio, ci95 = core.json_array(row.ratio_ci95), status = row.status,
    unit = row.metric == "time" and "us" or "warp_instructions" }
end

local UNKNOWN = { broken = "b failed", mended = "a failed", unmeasured = "not measured" }

local function time_text(time)
  if not time.ratio then return "cost: none, " .. (UNKNOWN[time.status] or "both failed") end
  return ("cost: %.3fx (%.3f .. %.3f): %s"):format(time.ratio, time.ci95[1], time.ci95[2],
    time.status)
end

local function row_text(row)
  return ("attempt %d, %s: %s%s%s"):format(row.attempt, row.name or "?", row.verdict,
    row.set and " " .. outcome.only_at(row.set) or "",
    row.cost and ", " .. tools.cost_text(row.cost, row.unit) or "")
end

function tools.diff(given, request)
  local a, b = tools.attempt(given.a, request), tools.attempt(given.b, request)
  local answer = { a = standings.row(a, given.a), b = standings.row(b, given.b),
    source = source_diff(a, b, given.lines or DIFF_LINES), gained = techniques(b, a),
    lost = techniques(a, b), facts = fact_lines(a, b), time = time_of(a, b) }
  local lines = { row_text(answer.a), row_text(answer.b), time_text(answer.time) }
  if a.task ~= b.task then lines[#lines + 1] = "they are of two tasks" end
  if #answer.gained > 0 then lines[#lines + 1] = "gained: " .. table.concat(answer.gained, ", ") end
  if #answer.lost > 0 then lines[#lines + 1] = "lost: " .. table.concat(answer.lost, ", ") end
  table.move(answer.facts, 1, #answer.facts, #lines + 1, lines)
  lines[#lines + 1] = answer.source == "" and "the sources are equal" or answer.source
  return answer, table.concat(lines, "\n")
end

-- ---- history and leaderboard ----

local WORDS = { fallback = "FALLBACK: right, but nearer to naive than to the best before",
  lost = "lost techniques that an earlier attempt had", best = "best so far" }

local function history_line(row)
  local parts = { ("%d  %s  %s  %s"):format(row.attempt, row.task, row.name or "?", row.verdict) }
  if row.set then parts[#parts + 1] = outcome.only_at(row.set) end
  if row.cost then parts[#parts + 1] = tools.cost_text(row.cost, row.unit) end
  if row.reason then parts[#parts + 1] = row.reason end
  if WORDS[row.status] then parts[#parts + 1] = WORDS[row.status] end
  return table.concat(parts, "  ")
end

local function session_id(from, name)
  for _, one in ipairs(from:sessions()) do
    if one.name == name then return one.id end
  end
  return nil
end

--- Attempts of this session, or of all.
-- @tparam table request
-- @tparam table how {all, task, limit}
-- @treturn table rows as perigee.standings gives them, and how many there are in all
function tools.own(request, how)
  local from <close> = opened(request)
  local session = from and not how.all and session_id(from, request.options.session)
  if not from or not (how.all or session) then return core.json_array {}, 0 end
  return standings.history(from, { session = session or nil, task = how.task, candidates = true,
    limit = how.limit or LIMIT })
end

function tools.history(given, request)
  local rows, total = tools.own(request, given)
  if given.task and total == 0 then catalogue.task(given.task) end -- says the nearest
  local lines = {}
  for i, row in ipairs(rows) do
    local own = row.session == request.options.session or request.options.share
    row.reason = own and row.reason or nil -- it quotes the source
    lines[i] = history_line(row)
  end
  lines[#lines + 1] = ("%d of %d attempts"):format(#rows, total)
  return { session = request.options.session, total = total, attempts = rows },
    table.concat(lines, "\n")
end

function tools.leaderboard(given, request)
  local task, set = catalogue.task(given.task), {} -- a misspelt name has no empty board
  local p = task:resolve { purpose = "check", set = given.set or {} }
  for name in pairs(given.set or {}) do set[name] = p[name] end
  local from <close> = opened(request)
  local boards = from and standings.boards(from, { task = given.task, set = set,
    limit = given.limit }) or core.json_array {}
  local lines = {}
  for _, board in ipairs(boards) do
    lines[#lines + 1] = ("%s on %s, %s"):format(params.text(board.params), board.device,
      units.counted(board.count, "kernel"))
    for _, row in ipairs(board.rows) do
      lines[#lines + 1] = ("  %d. %s (%s)  %s  %s of the best  attempt %d"):format(row.rank,
        row.name, row.imported and "imported" or row.kind or "?",
        tools.cost_text(row.cost, board.unit), units.ratio(row.over_best), row.attempt)
    end
  end
  if #boards == 0 then lines[1] = "nothing that passed has a cost yet: see time and submit" end
  return { task = given.task, boards = boards }, table.concat(lines, "\n")
end

return tools
