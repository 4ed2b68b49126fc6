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

local PASSED = ([[SELECT r.id, task, impl, source_sha, params, knobs, device, gpu, at, median_us,
  coalesce(json_extract(record, '$.tool'), json_extract(record, '$.kind')) AS kind,
  s.kind = 'import' AS imported, s.name AS session, %s AS cost
  FROM records r JOIN sessions s ON s.id = r.session
  WHERE verdict = 'passed' AND cost IS NOT NULL]]):format(COST)

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
  known.kind, known.imported, known.session = row.kind, row.imported == 1 or nil, row.session
end

local function rank(board, limit)
  table.sort(board.rows, function(a, b)
    if a.cost ~= b.cost then return a.cost < b.cost end
    return a.attempt < b.attempt
  end)
  board.count, board.by_kernel = #board.rows, nil
  for i, row in ipairs(board.rows) do
    local before = board.rows[i - 1]
    row.rank = before and before.cost == row.cost and before.rank or i -- counts are often equal
    row.over_best = row.cost / board.rows[1].cost
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
--   list of {rank, name, kind = what made the record, imported = true where that was told by a
--   file, session, attempt = record's number, cost, over_best, at, knobs, source_sha}}, in the
--   order of tasks, then sizes
function standings.boards(store, how)
  local sql, boards = PASSED, {}
  if how.task then sql = sql .. " AND task = ?" end
  for row in store.db:rows(sql .. " ORDER BY task, length(params), params, r.id",
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

--- The best records of a task at these parameters on this machine.
-- @tparam table store
-- @tparam string task
-- @tparam table p parameters
-- @tparam table machine_of {device, gpu}
-- @tparam[opt] integer limit how many at most
-- @treturn table rows of a board, empty when there is none
-- @treturn integer how many the board has
function standings.best(store, task, p, machine_of, limit)
  for _, board in ipairs(standings.boards(store, { task = task, limit = limit or math.maxinteger,
    device = machine(machine_of) })) do
    if params.text(board.params) == params.text(p) then return board.rows, board.count end
  end
  return {}, 0
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
    params = rec.params, set = rec.set, device = rec.device }
end

-- As much of a record as perigee.drift reads: whole ones take ten times as long. A patch leaves out
-- what is null.
local OF_SERIES = [[json_patch('{}', json_object('task', task, 'cell', cell, 'impl', impl,
  'device', device, 'verdict', verdict, 'at', at, 'params', json(params),
  'kind', json_extract(record, '$.kind'), 'set', json_extract(record, '$.set'),
  'tune', json_extract(record, '$.tune'),
  'time', json(CASE WHEN json_type(record, '$.time') = 'object' THEN
    json_object('median_us', json_extract(record, '$.time.median_us')) END),
  'counters', json_object('complete', json_extract(record, '$.counters.complete'),
    'warp_instructions', json_extract(record, '$.counters.warp_instructions')),
  'audit', json_object('facts', json_extract(record, '$.audit.facts'))))]]

-- SQL that picks what is asked for, and its values.
local function picked(how)
  local where, values = { "1" }, {}
  for _, column in ipairs { "session", "task" } do
    if how[column] then
      where[#where + 1], values[#values + 1] = column .. " = ?", how[column]
    end
  end
  return table.concat(where, " AND "), values
end

-- Where the attempts of these rows stand in their series, by the records' numbers: a series is
-- whole, with what the naive implementation costs, however few of its attempts are shown.
local function statuses(store, how, rows)
  local clause, values = picked(how)
  local tasks, by_id = core.json_array {}, {}
  for i, row in ipairs(rows) do tasks[i] = row.task end
  values[#values + 1] = core.json_encode(tasks)
  local next_row, cursor <close> = store.db:rows(([[SELECT id, %s AS record FROM records WHERE %s
    AND task IN (SELECT value FROM json_each(?)) ORDER BY id]]):format(OF_SERIES, clause),
    table.unpack(values))
  for _, one in ipairs(drift.series(function()
    local row = next_row(cursor)
    if row then return core.json_decode(row.record), { id = row.id } end
  end)) do
    for _, row in ipairs(one.attempts) do by_id[row.record] = row.status end
  end
  return by_id
end

--- Attempts in their order, the newest last, with where one fell back (see perigee.drift).
-- @tparam table store
-- @tparam table how {session = id, task = name, candidates = true for checks alone, limit (20)}
-- @treturn table rows as `row` makes them, with session and status, and how many there are in all
function standings.history(store, how)
  local clause, values = picked(how)
  if how.candidates then clause = clause .. " AND json_extract(record, '$.kind') = 'check'" end
  local total, rows = 0, core.json_array {}
  for row in store.db:rows("SELECT count(*) AS n FROM records WHERE " .. clause,
    table.unpack(values)) do total = row.n end
  values[#values + 1] = how.limit or 20
  for row in store.db:rows(([[SELECT r.id, record, s.name AS session
    FROM records r JOIN sessions s ON s.id = r.session WHERE %s ORDER BY r.id DESC LIMIT ?]])
    :format(clause), table.unpack(values)) do
    local one = standings.row(core.json_decode(row.record), row.id)
    one.session = row.session
    table.insert(rows, 1, one)
  end
  local by_id = statuses(store, how, rows)
  for _, row in ipairs(rows) do row.status = by_id[row.attempt] end
  return rows, total
end

return standings
