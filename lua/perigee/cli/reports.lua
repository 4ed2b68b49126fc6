--- Ready reports of `perigee query`: best, leaderboard, history, compare. See perigee.standings.
-- @module perigee.cli.reports

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local knobs = require "perigee.knobs"
local outcome = require "perigee.serve.outcome"
local params = require "perigee.params"
local records = require "perigee.cli.records"
local standings = require "perigee.standings"
local suggest = require "perigee.suggest"
local units = require "perigee.units"

local reports = {}

--- Names, each with the words that may follow it.
reports.NAMES = { best = "[TASK]", leaderboard = "TASK", history = "[SESSION | TASK]",
  compare = "A B" }

local function cost_text(cost, unit)
  if not cost then return "" end
  return unit == "us" and units.time(cost) or units.count(cost) .. " instr."
end

local function expect(words, name, least, most)
  if #words >= least and #words <= most then return end
  core.error("invalid", ("query %s: expected %s, got %d names"):format(name, reports.NAMES[name],
    #words), "see perigee query --help")
end

local function json_lines(list)
  for _, one in ipairs(list) do common.out(core.json_encode(one)) end
end

local function nothing(opened)
  common.out("nothing that passed has a cost in " .. opened.path)
end

-- Refuse a task that neither the store nor the catalogue has: its report would be empty.
local function check_task(opened, name)
  if not name then return end
  local names, seen = {}, {}
  for row in opened.db:rows "SELECT DISTINCT task FROM records" do
    names[#names + 1], seen[row.task] = row.task, true
  end
  if seen[name] then return end
  for _, task in ipairs(catalogue.all()) do
    names[#names + 1], seen[task.name] = not seen[task.name] and task.name or nil, true
  end
  if seen[name] then return end
  core.error("not_found", ("unknown task '%s'"):format(name), suggest.hint(name, names, "tasks"))
end

-- ---- the reports ----

-- What a record comes from.
local function by(row)
  return row.imported and "import" or row.kind or ""
end

local RUN = {}

function RUN.best(opened, words, options)
  expect(words, "best", 0, 1)
  check_task(opened, words[1])
  local boards, rows = standings.boards(opened, { task = words[1], limit = 1 }), {}
  if options.json then return json_lines(boards) end
  if #boards == 0 then return nothing(opened) end
  for i, board in ipairs(boards) do
    local best = board.rows[1]
    rows[i] = { board.task, board.device, cost_text(best.cost, board.unit), best.name,
      tostring(best.attempt), tostring(board.count), params.text(board.params) }
  end
  common.out(columns.text({ { title = "task" }, { title = "on" }, { title = "best", right = true },
    { title = "kernel" }, { title = "record", right = true }, { title = "of", right = true },
    { title = "parameters" } }, rows, { indent = 0 }))
end

function RUN.leaderboard(opened, words, options)
  expect(words, "leaderboard", 1, 1)
  check_task(opened, words[1])
  local boards = standings.boards(opened, { task = words[1], limit = options.limit })
  if options.json then return json_lines(boards) end
  if #boards == 0 then return nothing(opened) end
  for i, board in ipairs(boards) do
    local rows = {}
    for k, row in ipairs(board.rows) do
      rows[k] = { tostring(row.rank), row.name, cost_text(row.cost, board.unit),
        units.ratio(row.over_best), tostring(row.attempt), by(row), row.at,
        knobs.text(row.knobs or {}) }
    end
    if i > 1 then common.out("") end
    common.out(("%s, %s on %s: %s"):format(board.task, params.text(board.params),
      board.device, units.counted(board.count, "kernel")))
    common.out(columns.text({ { title = "rank", right = true }, { title = "kernel" },
      { title = "cost", right = true }, { title = "over best", right = true },
      { title = "record", right = true }, { title = "by" }, { title = "at" },
      { title = "knobs" } }, rows))
  end
end

local WORDS = { fallback = "FALLBACK", lost = "LOST TECHNIQUES" }

-- "at n = 1 only; FALLBACK"
local function note_of(row)
  local parts = {}
  if row.set then parts[1] = outcome.only_at(row.set) end
  parts[#parts + 1] = WORDS[row.status] or row.reason
  return table.concat(parts, "; ")
end

function RUN.history(opened, words, options)
  expect(words, "history", 0, 1)
  local session, task = nil, words[1]
  for _, one in ipairs(opened:sessions()) do
    if one.name == words[1] then session, task = one.id, nil end
  end
  if task and not records.looks_like_path(task) then
    opened:find_session(task) -- says the nearest
  end
  check_task(opened, task)
  local list, total = standings.history(opened, { session = session, task = task,
    limit = options.limit })
  if options.json then return json_lines(list) end
  local rows = {}
  for i, row in ipairs(list) do
    rows[i] = { tostring(row.attempt), row.at, row.task, row.name, row.kind, row.verdict,
      cost_text(row.cost, row.unit), note_of(row) }
  end
  common.out(columns.text({ { title = "record", right = true }, { title = "at" },
    { title = "task" }, { title = "kernel" }, { title = "by" }, { title = "verdict" },
    { title = "cost", right = true }, { title = "" } }, rows, { indent = 0 }))
  if total > #list then
    common.out(("the last %d of %d; --limit says how many"):format(#list, total))
  end
end

--- The report that `words` begin with, or nil.
function reports.find(words)
  return reports.NAMES[words[1] or ""] and words[1] or nil
end

--- Print a report.
-- @tparam string name
-- @tparam table words what follows it
-- @tparam table options of the command line
-- @treturn integer exit status
function reports.run(name, words, options)
  if name == "compare" then
    expect(words, "compare", 2, 2)
    return require("perigee.cli.compare").main { a = words[1], b = words[2], db = options.db,
      json = options.json, fail_above = 5 }
  end
  local store = require "perigee.store"
  local opened <close> = store.open(store.path(options.db), { readonly = true })
  RUN[name](opened, words, options)
  return 0
end

return reports
