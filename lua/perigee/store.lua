--- The results store: records, their sources and samples in one SQLite file. A record is one
-- transaction: after a kill all that was added is there. Several processes may write at once.
-- JSONL is the exchange format: a line is a record that stands alone.
-- @module perigee.store

local core = require "perigee.core"
local files = require "perigee.files"
local shape = require "perigee.record_shape"
local suggest = require "perigee.suggest"

local Store = {}
Store.__index = Store
Store.__close = function(self) self:close() end

local store = {}

local APPLICATION = 0x50657269 -- "Peri", in the file's header
local VERSION = 1

-- `key` names an evaluation within its session, `digest` is the record's text: importing a file
-- twice adds nothing.
local SCHEMA = [[
CREATE TABLE sessions(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, started TEXT NOT NULL,
  about TEXT NOT NULL DEFAULT '{}');
CREATE TABLE sources(sha TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records(
  id INTEGER PRIMARY KEY, session INTEGER NOT NULL REFERENCES sessions(id), key TEXT,
  digest TEXT NOT NULL, task TEXT NOT NULL, cell TEXT, impl TEXT, source_sha TEXT, ptx_sha TEXT,
  verdict TEXT NOT NULL, median_us REAL, device TEXT, gpu TEXT, at TEXT, seed INTEGER,
  params TEXT NOT NULL, knobs TEXT, record TEXT NOT NULL, samples TEXT);
CREATE UNIQUE INDEX records_key ON records(session, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX records_digest ON records(session, digest);
CREATE INDEX records_task ON records(task, verdict, median_us);
CREATE INDEX records_source ON records(source_sha);
]]

-- ---- opening ----

--- The file that is meant: what was given, else $PERIGEE_DB, else the user's own.
-- @tparam[opt] string given by --db
-- @treturn string path, and whether it was asked for
function store.path(given)
  local named = given or os.getenv("PERIGEE_DB")
  if named and named ~= "" then return named, true end
  return files.data("results.db"), false
end

-- The first row, or nil.
local function first(db, sql, ...)
  local next_row, rows <close> = db:rows(sql, ...)
  return next_row(rows)
end

local function number_of(db, pragma)
  return first(db, "PRAGMA " .. pragma)[pragma]
end

local function check_version(db, path)
  -- The tables first: another process may be making them together with the two numbers just now.
  local tables = first(db, "SELECT count(*) AS n FROM sqlite_schema").n
  local application, version = number_of(db, "application_id"), number_of(db, "user_version")
  if application ~= APPLICATION and tables > 0 then
    core.error("invalid", "this SQLite file is not a results store", "name another", path)
  end
  if version > VERSION then
    core.error("unsupported", ("this results store has version %d, this program knows %d"):format(
      version, VERSION), "use a newer perigee, or name another file", path)
  end
  return version
end

-- Run body in a transaction; what it raises is raised again after the rollback.
local function transaction(db, body)
  db:exec("BEGIN IMMEDIATE")
  local ok, result = pcall(body)
  local committed, e = true, nil
  if ok then committed, e = pcall(db.exec, db, "COMMIT") end
  if ok and committed then return result end
  pcall(db.exec, db, "ROLLBACK")
  error(ok and e or result, 0)
end

local function create(db, path)
  transaction(db, function()
    if check_version(db, path) > 0 then return end -- another process was faster
    db:exec(SCHEMA)
    db:exec(("PRAGMA application_id = %d; PRAGMA user_version = %d"):format(APPLICATION, VERSION))
  end)
end

-- What went wrong with the file is what the machine lacks, unless the request itself was wrong.
local function guarded(path, body, ...)
  local result = table.pack(pcall(body, ...))
  if result[1] then return table.unpack(result, 2, result.n) end
  local e = result[2]
  if type(e) == "table" and (e.code == "io" or e.code == "timeout") then
    core.error("environment", ("results store: %s"):format(e.message), e.hint, e.where or path)
  end
  error(e, 0)
end

local function open(path, readonly)
  if not readonly and files.dirname(path) ~= "." then
    local made, e = core.mkdir_all(files.dirname(path))
    if not made then core.error("io", e.message, "name another file with --db", e.where) end
  end
  local db = core.sqlite(path, { readonly = readonly })
  if readonly then
    check_version(db, path)
  elseif check_version(db, path) == 0 then
    create(db, path)
  end
  if not readonly then -- where the file system cannot share memory the old journal stays
    pcall(db.exec, db, "PRAGMA journal_mode = WAL")
    db:exec("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON")
  end
  return db
end

--- Open a store, made when it is not there.
-- @tparam string path
-- @tparam[opt] table how {readonly = boolean: it must be there}
-- @raise "environment" when it cannot be opened or written, "not_found" for a missing one that is
--   only read, "invalid" for a file that is no results store
function store.open(path, how)
  local readonly = how and how.readonly or false
  if readonly and not files.is_file(path) then
    core.error("not_found", "there is no results store", "perigee tune and --db make one", path)
  end
  local db = guarded(path, open, path, readonly)
  return setmetatable({ db = db, path = path }, Store)
end

function Store:close()
  self.db:close()
end

-- ---- sessions ----

--- The session called `name`, made when it is not there.
-- @tparam string name
-- @tparam string kind "run", "check", "tune", "serve", "eval" or "import"
-- @tparam[opt] table about what to keep with it
-- @treturn integer its id, and whether it was there
function Store:session(name, kind, about)
  return guarded(self.path, function()
    local found = first(self.db, "SELECT id FROM sessions WHERE name = ?", name)
    if found then return found.id, true end
    self.db:run("INSERT OR IGNORE INTO sessions(name, kind, started, about) VALUES(?, ?, ?, ?)",
      name, kind, core.utc(), core.json_encode(about or {}))
    return first(self.db, "SELECT id FROM sessions WHERE name = ?", name).id, false
  end)
end

--- A new session with a name that no other has: `stem`, or stem-2, stem-3, ...
-- @treturn integer,string id and name
function Store:new_session(stem, kind, about)
  return guarded(self.path, transaction, self.db, function()
    local name, number = stem, 1
    while first(self.db, "SELECT id FROM sessions WHERE name = ?", name) do
      number = number + 1
      name = ("%s-%d"):format(stem, number)
    end
    local _, id = self.db:run(
      "INSERT INTO sessions(name, kind, started, about) VALUES(?, ?, ?, ?)",
      name, kind, core.utc(), core.json_encode(about or {}))
    return { id = id, name = name }
  end)
end

--- Replace what is kept with a session.
-- @tparam integer session id
-- @tparam table about
function Store:note(session, about)
  guarded(self.path, self.db.run, self.db, "UPDATE sessions SET about = ? WHERE id = ?",
    core.json_encode(about), session)
end

--- What is kept with the session called `name`; nil when there is no such session.
function Store:about(name)
  local found = first(self.db, "SELECT about FROM sessions WHERE name = ?", name)
  return found and core.json_decode(found.about) or nil
end

--- All sessions, the oldest first: {id, name, kind, started, records, passed}.
function Store:sessions()
  local list = {}
  for row in self.db:rows([[
    SELECT s.id, s.name, s.kind, s.started, s.about, count(r.id) AS records,
           sum(r.verdict = 'passed') AS passed, min(r.task) AS task
    FROM sessions s LEFT JOIN records r ON r.session = s.id GROUP BY s.id ORDER BY s.id]]) do
    row.about = core.json_decode(row.about)
    row.passed = row.passed or 0
    list[#list + 1] = row
  end
  return list
end

--- Id of a session by name. @raise "not_found" with the nearest name
-- @tparam string name
-- @tparam[opt] table also other words that might have been meant
function Store:find_session(name, also)
  local found = first(self.db, "SELECT id FROM sessions WHERE name = ?", name)
  if found then return found.id end
  local names = {}
  for i, session in ipairs(self:sessions()) do names[i] = session.name end
  core.error("not_found", ("no session '%s' in the results store"):format(name),
    suggest.hint(name, core.nearest(name, also or {}) and also or names, "sessions"), self.path)
end

-- ---- records ----

-- Numbers without the digits that no clock has: 7 significant ones.
local function samples_text(samples)
  if not samples or #samples == 0 then return nil end
  local texts = {}
  for i, us in ipairs(samples) do texts[i] = ("%.7g"):format(us) end
  return "[" .. table.concat(texts, ",") .. "]"
end

local function add(db, session, rec, extra)
  local text = core.json_encode(rec)
  for _, source in ipairs(extra.sources or {}) do
    db:run("INSERT OR IGNORE INTO sources(sha, text) VALUES(?, ?)", source.sha, source.text)
  end
  local time = rec.time or {}
  local added, id = db:run([[
    INSERT OR IGNORE INTO records(session, key, digest, task, cell, impl, source_sha, ptx_sha,
      verdict, median_us, device, gpu, at, seed, params, knobs, record, samples)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)]],
    session, extra.key, core.sha256(text), rec.task, rec.cell, rec.impl, rec.source_sha,
    rec.ptx_sha, rec.verdict, time.median_us, rec.device, rec.gpu, rec.at, rec.seed,
    core.json_encode(rec.params or {}), rec.knobs and core.json_encode(rec.knobs) or nil, text,
    samples_text(extra.samples))
  return added > 0 and id or nil
end

--- Add a record, in one transaction.
-- @tparam integer session its id
-- @tparam table rec
-- @tparam[opt] table extra {key = name of the evaluation within the session, sources = list of
--   {name, sha, text}, samples = list of microseconds}
-- @treturn integer|nil the record's id; nil when the session has this evaluation already
-- @raise "environment": a full disk, a read-only file, a lock that is not given up
function Store:add(session, rec, extra)
  return guarded(self.path, transaction, self.db, function()
    return add(self.db, session, rec, extra or {})
  end)
end

local function decoded(row)
  local rec = core.json_decode(row.record)
  return rec, { id = row.id, key = row.key, session = row.session,
    samples = row.samples and core.json_decode(row.samples) or nil }
end

--- Records of a session in the order they came: an iterator of record, {id, key, samples}.
-- @tparam integer session id
-- @tparam[opt] integer after only those with a larger id
function Store:records(session, after)
  local next_row, rows, nothing, closer = self.db:rows([[
    SELECT id, session, key, record, samples FROM records WHERE session = ? AND id > ?
    ORDER BY id]], session, after or 0)
  return function()
    local row = next_row(rows)
    if row then return decoded(row) end
  end, rows, nothing, closer
end

--- How many candidates were judged in the session of that name, and the number of its last record.
function Store:attempts(name)
  local row = first(self.db, [[
    SELECT count(*) FILTER (WHERE json_extract(record, '$.kind') = 'check') AS attempts,
    coalesce(max(id), 0) AS last FROM records
    WHERE session = (SELECT id FROM sessions WHERE name = ?)]], name)
  return row.attempts, row.last
end

--- The text of a source; nil when the store has it not.
function Store:source(sha)
  local row = first(self.db, "SELECT text FROM sources WHERE sha = ?", sha)
  return row and row.text or nil
end

-- ---- a record that stands alone ----

--- A record with the texts of its sources and its samples in it, as a line of JSONL has it.
-- @tparam table rec
-- @tparam table extra {sources, samples}
function store.whole(rec, extra)
  local whole = {}
  for name, value in pairs(rec) do whole[name] = value end
  if extra.sources and #extra.sources > 0 then
    whole.source_texts = {}
    for _, source in ipairs(extra.sources) do whole.source_texts[source.sha] = source.text end
  end
  if extra.samples and #extra.samples > 0 then
    whole.samples_us = core.json_array(table.move(extra.samples, 1, #extra.samples, 1, {}))
  end
  return whole
end

--- The reverse: a record as the store keeps it, and {sources, samples}.
function store.parts(whole)
  local rec, extra = {}, { sources = {}, samples = whole.samples_us }
  for name, value in pairs(whole) do rec[name] = value end
  rec.source_texts, rec.samples_us = nil, nil
  for sha, text in pairs(whole.source_texts or {}) do
    if core.sha256(text) ~= sha then
      core.error("invalid", ("the text of source %s does not have that SHA-256"):format(
        sha:sub(1, 12)), "the record was changed after it was written")
    end
    table.insert(extra.sources, { sha = sha, text = text })
  end
  return rec, extra
end

local function with_sources(self, rec, extra)
  extra.sources = {}
  for _, source in ipairs(rec.sources or {}) do
    local text = self:source(source.sha)
    if text then
      table.insert(extra.sources, { name = source.name, sha = source.sha, text = text })
    end
  end
  return store.whole(rec, extra)
end

--- One record as it is kept, and {id, key, session, samples}. @raise "not_found"
function Store:one(id)
  local row = first(self.db, "SELECT id, session, key, record, samples FROM records WHERE id = ?",
    id)
  if not row then
    local last = first(self.db, "SELECT max(id) AS n FROM records").n
    core.error("not_found", ("no record %d in the results store"):format(id),
      last and ("its records are numbered up to %d"):format(last) or "it is empty", self.path)
  end
  return decoded(row)
end

--- One record with its sources and samples. @raise "not_found"
function Store:record(id)
  return with_sources(self, self:one(id))
end

--- Write a session, or all of them, as JSONL.
-- @tparam[opt] integer session id
-- @tparam function write called with each line, without its end
-- @treturn integer how many
function Store:export(session, write)
  local count, sql = 0, "SELECT id, session, key, record, samples FROM records"
  if session then sql = ("%s WHERE session = %d"):format(sql, session) end
  for row in self.db:rows(sql .. " ORDER BY id") do
    write(core.json_encode(with_sources(self, decoded(row))))
    count = count + 1
  end
  return count
end

--- A line of JSONL as a record.
-- @raise "syntax" with the file and line
function store.parse(line, where)
  local value, problem = core.json_decode(line)
  if line:find("^SQLite format 3") then
    core.error("syntax", "a results store, where records as JSONL are expected",
      "name its sessions, and the store by --db", where)
  end
  if value == nil then
    core.error("syntax", "no JSON: " .. tostring(problem), nil, where)
  end
  local hint = "records come from perigee run --json, or from an export of the store"
  if type(value) ~= "table" or type(value.task) ~= "string" or type(value.verdict) ~= "string" then
    core.error("syntax", "a line that is no record: it has no task and verdict", hint, where)
  end
  local wrong = shape.problem(value)
  if wrong then core.error("syntax", wrong, hint, where) end
  return value
end

local BLOCK = 1 << 16 -- bytes that are read at once
local LINE_MOST = 128 << 20 -- bytes: the largest source takes 96 MiB where JSON escapes all of it

local function check_length(length, path, number)
  if length <= LINE_MOST then return end
  core.error("range", ("a line of more than %d MiB, which no record has"):format(LINE_MOST >> 20),
    "records are JSONL, one a line", ("%s:%d"):format(path, number))
end

--- The text of a JSONL file or a pipe. A line without end, as a device may have, is not read on.
-- @tparam string path
-- @raise "not_found", "io"; "range" with file and line
function store.read(path)
  local file <close> = io.open(path, "rb")
  if not file then return files.read(path) end -- which says why
  local blocks, number, length = {}, 1, 0 -- of the line at hand
  local block, problem = file:read(BLOCK)
  while block do
    local start, stop = 1 - length, block:find("\n", 1, true)
    while stop do
      check_length(stop - start, path, number)
      number, start, stop = number + 1, stop + 1, block:find("\n", stop + 1, true)
    end
    length = #block + 1 - start
    check_length(length, path, number)
    blocks[#blocks + 1] = block
    block, problem = file:read(BLOCK)
  end
  return problem and files.read(path) or table.concat(blocks)
end

--- Records of a JSONL file: an iterator of line number and record. Blank lines are passed over.
-- @tparam string path
-- @tparam[opt] string text what is in it, where that is known: a pipe says it once
-- @raise "not_found", "syntax" and "range" with file and line
function store.lines(path, text)
  local number, at = 0, 1
  text = text or store.read(path)
  return function()
    while at <= #text do
      local stop = text:find("\n", at, true) or #text + 1
      local line = text:sub(at, stop - 1)
      number, at = number + 1, stop + 1
      if line:find("%S") then
        return number, store.parse(line, ("%s:%d"):format(path, number))
      end
    end
  end
end

-- The session that a file goes into: what was told is never mixed with what was run here.
local function session_for_import(self, name)
  local id, there = self:session(name, "import")
  local kind = there and first(self.db, "SELECT kind FROM sessions WHERE id = ?", id).kind
  if kind and kind ~= "import" then
    core.error("invalid", ("session '%s' has records of perigee %s"):format(name, kind),
      "import into another session", self.path)
  end
  return id
end

--- Read a JSONL file into a session, made when it is not there: all of its lines or, when one is
-- wrong, none.
-- @tparam string path
-- @tparam string name of the session
-- @tparam[opt] string text what is in the file, where that is known
-- @treturn integer,integer how many were added, and how many were there already
-- @raise "syntax" and "range" with file and line, "invalid" for a session that is no import
function Store:import(path, name, text)
  return guarded(self.path, function()
    local added, known = 0, 0
    transaction(self.db, function()
      local session = session_for_import(self, name)
      for _, whole in store.lines(path, text) do
        local rec, extra = store.parts(whole)
        if add(self.db, session, rec, extra) then added = added + 1 else known = known + 1 end
      end
    end)
    return added, known
  end)
end

return store
