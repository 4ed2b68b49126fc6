--- `perigee query`: what the results store holds.
-- @module perigee.cli.query

local core = require "perigee.core"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local knobs = require "perigee.knobs"
local reports = require "perigee.cli.reports"
local params = require "perigee.params"
local store = require "perigee.store"
local suggest = require "perigee.suggest"
local units = require "perigee.units"

local query = {}

function query.configure(parser)
  parser:argument("what", "best [TASK], leaderboard TASK, history [SESSION or TASK], compare A B, "
    .. "or a session: its records (default: the list of sessions)"):args("*")
  parser:option("--limit", "rows of a leaderboard or a history"):argname("N"):default("20")
    :convert(common.count("--limit"))
  parser:mutex(
    parser:option("--sql", "rows of one SQL statement, which can only read"):argname("TEXT"),
    parser:flag("--export", "records as JSONL, each with its sources and samples"),
    parser:option("--import", "take the records of a JSONL file into the session"):argname("FILE"))
  parser:option("--db", "results store (default: $PERIGEE_DB, else ~/.local/share/perigee)")
    :argname("FILE")
  parser:flag("--json", "one JSON object a line on standard output")
end

-- Values in the order of titles, as text; numbers to the right.
local function print_table(titles, rows)
  local list = {}
  for i, title in ipairs(titles) do
    list[i] = { title = title, right = #rows > 0 }
    for _, row in ipairs(rows) do
      list[i].right = list[i].right and (type(row[i]) == "number" or row[i] == nil)
    end
  end
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = {}
    for k = 1, #titles do lines[i][k] = row[k] ~= nil and tostring(row[k]) or "" end
  end
  common.out(columns.text(list, lines, { indent = 0 }))
end

local function show_sessions(opened, options)
  local rows = {}
  for i, session in ipairs(opened:sessions()) do
    if options.json then common.out(core.json_encode(session)) end
    rows[i] = { session.name, session.kind, session.started, session.records, session.passed,
      session.task }
  end
  if options.json then return end
  if #rows == 0 then return common.out("no sessions in " .. opened.path) end
  print_table({ "session", "kind", "started", "records", "passed", "task" }, rows)
end

local function show_records(opened, session, options)
  local rows = {}
  for rec, extra in opened:records(session) do
    if options.json then common.out(core.json_encode(rec)) end
    rows[#rows + 1] = { extra.id, rec.at, rec.task, rec.cell or "", rec.impl, rec.device,
      rec.verdict, rec.time and units.time(rec.time.median_us) or "",
      knobs.text(rec.knobs or {}) }
  end
  if options.json then return end
  print_table({ "record", "at", "task", "cell", "implementation", "device", "verdict", "median",
    "knobs" }, rows)
end

local function show_sql(opened, options)
  local next_row, cursor <close> = opened.db:rows(options.sql)
  local titles, rows = cursor:columns(), {}
  for row in next_row, cursor do
    if options.json then
      common.out(core.json_encode(row))
    else
      local values = {}
      for i, title in ipairs(titles) do values[i] = row[title] end
      rows[#rows + 1] = values
    end
  end
  if not options.json then print_table(titles, rows) end
end

local function import(path, options)
  local opened <close> = store.open(path)
  local text = store.read(options.import)
  local name = options.session -- a file's own, so that it adds nothing when it comes again
    or "import-" .. core.sha256(text):sub(1, 12)
  local added, known = opened:import(options.import, name, text)
  common.out(("%d records into session %s%s"):format(added, name,
    known > 0 and (", %d were there already"):format(known) or ""))
end

-- The one session that is meant.
local function session_of(words)
  if #words > 1 then
    core.error("invalid", ("expected one session, got %d"):format(#words),
      suggest.hint(words[1], params.names(reports.NAMES), "reports"))
  end
  return words[1]
end

--- @treturn integer exit status
function query.main(options)
  local path, report = store.path(options.db), reports.find(options.what)
  if report and not (options.sql or options.export or options.import) then
    return reports.run(report, table.move(options.what, 2, #options.what, 1, {}), options)
  end
  options.session = session_of(options.what)
  if options.import then
    import(path, options)
    return 0
  end
  local opened <close> = store.open(path, { readonly = true })
  local session = options.session and opened:find_session(options.session,
    params.names(reports.NAMES))
  if options.sql then show_sql(opened, options)
  elseif options.export then opened:export(session, common.out)
  elseif session then show_records(opened, session, options)
  else show_sessions(opened, options) end
  return 0
end

return query
