--- Reports from a results store: the best of each task, who is how fast, what was tried in its
-- order. What `perigee query` prints and the tools of `perigee serve` answer.
--
-- A cost is the median in microseconds by a GPU's clock; where there is none, the warp instructions
-- that sim:profile counted. Records of other parameters, or of another GPU, are never on one board.
-- @module perigee.standings

local core = require "perigee.core"
local comparison = require "perigee.comparison"
local drift = require "perigee.drift"
local params = require "perigee.params"

local standings = {}

local COST = [[coalesce(median_us, CASE WHEN json_extract(record, '$.counters.complete')
  THEN nullif(json_extract(record, '$.counters.warp_instructions'), 0) END)]]

local PASSED = ([[SELECT id, task, impl, source_sha, params, knobs, device, gpu, at, median_us,
  %s AS cost FROM records WHERE verdict = 'passed' AND cost IS NOT NULL]]):format(COST)

-- ---- boards ----

-- What a record ran on, in words that are the same wherever a cost means the same.
local function machine(row)
  if (row.device or ""):match "^cuda" then return row.gpu or "cuda" end
  return comparison.kind_of(row.device)
end

local function board_key(row)
  return table.concat({ row.task, row.params, machine(row) }, "\n")
end

local function kernel_key(row)
  return table.concat({ row.impl or "", row.source_sha or "", row.knobs or "" }, "\n")
end

local function add(boards, row)
  local key = board_key(row)
  local board = boards[key]
  if not board then
    board = { task = row.task, params = core.json_decode(row.params), device = machine(row),
      unit = row.median_us and "us" or "warp_instructions", rows = {}, by_kernel = {} }
    boards[key], boards[#boards + 1] = board, board
  end
  local kernel = kernel_key(row)
  local known = board.by_kernel[kernel]
  if known and known.cost <= row.cost then return end
  if not known then
    known = {}
    board.by_kernel[kernel], board.rows[#board.rows + 1] = known, known
  end
  known.name, known.attempt, known.cost, known.at = row.impl or "?", row.id, row.cost, row.at
  known.knobs, known.source_sha = row.knobs and core.json_decode(row.knobs), row.source_sha
end

local function rank(board, limit)
  table.sort(board.rows, function(a, b)
    if a.cost ~= b.cost then return a.cost < b.cost end
    return a.attempt < b.attempt
  end)
  board.count, board.by_kernel = #board.rows, nil
  for i, row in ipairs(board.rows) do
    row.rank, row.over_best = i, row.cost / board.rows[1].cost
  end
  board.rows = core.json_array(table.move(board.rows, 1, math.min(limit, #board.rows), 1, {}))
end

-- Whether a board's parameters are those that were asked for.
local function fits(board, set)
  for name, value in pairs(set or {}) do
    if tostring(board.params[name]) ~= tostring(value) then return false end
  end
  return true
end

--- Boards: kernels that passed, the fastest first, each with its best record.
-- @tparam table store
-- @tparam table how {task = name, set = {name = value}, limit = rows of each (20), device = only
--   boards of that machine}
-- @treturn table list of {task, params, device, unit = "us" or "warp_instructions", count, rows =
--   list of {rank, name, attempt = record's number, cost, over_best, at, knobs, source_sha}}, in
--   the order of tasks, then sizes
function standings.boards(store, how)
  local sql, boards = PASSED, {}
  if how.task then sql = sql .. " AND task = ?" end
  for row in store.db:rows(sql .. " ORDER BY task, length(params), params, id",
    table.unpack { how.task }) do
    add(boards, row)
  end
  local list = core.json_array {}
  for _, board in ipairs(boards) do
    if fits(board, how.set) and (not how.device or board.device == how.device) then
      rank(board, how.limit or 20)
      list[#list + 1] = board
    end
  end
  return list
end

--- The best record of a task at these parameters on this machine; nil when there is none.
-- @tparam table store
-- @tparam string task
-- @tparam table p parameters
-- @tparam table machine_of {device, gpu}
-- @treturn table|nil a row of a board
function standings.best(store, task, p, machine_of)
  for _, board in ipairs(standings.boards(store, { task = task, limit = 1,
    device = machine(machine_of) })) do
    if params.text(board.params) == params.text(p) then return board.rows[1], board end
  end
  return nil
end

-- ---- history ----

local function first_line(text)
  return text and text:match "^[^\n]*" or nil
end

--- One record as a row of a table.
function standings.row(rec, id)
  local cost, metric = comparison.cost(rec)
  return { attempt = id, at = rec.at, task = rec.task, cell = rec.cell, name = rec.impl,
    kind = rec.tool or rec.kind, verdict = rec.verdict, reason = first_line(rec.reason),
    cost = cost, unit = cost and (metric == "time" and "us" or "warp_instructions") or nil,
    params = rec.params, device = rec.device }
end

local function statuses(list)
  local i, by_id = 0, {}
  local series = drift.series(function()
    i = i + 1
    if list[i] then return list[i].rec, { id = list[i].id } end
  end)
  for _, one in ipairs(series) do
    for _, row in ipairs(one.attempts) do by_id[row.record] = row.status end
  end
  return by_id
end

--- Attempts in their order, the newest last, with where one fell back (see perigee.drift).
-- @tparam table store
-- @tparam table how {session = id, task = name, candidates = true for checks alone, limit (20)}
-- @treturn table rows as `row` makes them, with status, and how many there are in all
function standings.history(store, how)
  local where, values = { "1" }, {}
  for _, column in ipairs { "session", "task" } do
    if how[column] then
      where[#where + 1], values[#values + 1] = column .. " = ?", how[column]
    end
  end
  if how.candidates then where[#where + 1] = "json_extract(record, '$.kind') = 'check'" end
  local clause, total, list = table.concat(where, " AND "), 0, {}
  for row in store.db:rows("SELECT count(*) AS n FROM records WHERE " .. clause,
    table.unpack(values)) do total = row.n end
  values[#values + 1] = how.limit or 20
  for row in store.db:rows(("SELECT id, record FROM records WHERE %s ORDER BY id DESC LIMIT ?")
    :format(clause), table.unpack(values)) do
    table.insert(list, 1, { rec = core.json_decode(row.record), id = row.id })
  end
  local by_id, rows = statuses(list), core.json_array {}
  for i, one in ipairs(list) do
    rows[i] = standings.row(one.rec, one.id)
    rows[i].status = by_id[one.id]
  end
  return rows, total
end

return standings
