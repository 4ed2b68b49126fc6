-- The results store: records go in and come out whole, by several writers, through a kill, and what
-- cannot be written is said. And the SQLite binding under it.
local lu = require "luaunit"
local core = require "perigee.core"
local store = require "perigee.store"

local BINARY = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")

local function lines_of(command)
  local pipe <close> = io.popen(command)
  return pipe:read("a")
end

local folder = lines_of("mktemp -d"):match("%S+")

TestSqlite = {}

function TestSqlite:test_values_come_back_as_they_went()
  local db = core.sqlite(":memory:")
  db:exec("CREATE TABLE t(a, b, c, d, e)")
  db:run("INSERT INTO t VALUES(?, ?, ?, ?, ?)", math.maxinteger, 0.1, "ä\0b", nil, true)
  for row in db:rows("SELECT * FROM t") do
    lu.assertEquals(row, { a = math.maxinteger, b = 0.1, c = "ä\0b", e = 1 })
    lu.assertEquals(math.type(row.a), "integer")
  end
  local changed, id = db:run("INSERT INTO t(a) VALUES(?)", 5)
  lu.assertEquals({ changed, id }, { 1, 2 })
end

function TestSqlite:test_columns_are_named_in_order()
  local _, rows = core.sqlite(":memory:"):rows("SELECT 1 AS z, 2 AS a")
  lu.assertEquals(rows:columns(), { "z", "a" })
end

function TestSqlite:test_a_loop_that_ends_early_frees_the_table()
  local db = core.sqlite(":memory:")
  db:exec("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
  for row in db:rows("SELECT a FROM t") do
    if row.a == 1 then break end
  end
  db:exec("DROP TABLE t") -- refused while a statement reads it
end

local function refuses(code, message, call, ...)
  local ok, e = pcall(call, ...)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, code)
  lu.assertStrContains(tostring(e), message)
  return e
end

function TestSqlite:test_misuse_is_an_error()
  local db = core.sqlite(":memory:")
  refuses("syntax", 'near "SELEC"', db.run, db, "SELEC 1")
  refuses("syntax", "no such table", db.rows, db, "SELECT * FROM t")
  refuses("invalid", "has more than one statement", db.run, db, "SELECT 1; SELECT 2")
  refuses("invalid", "has no statement", db.run, db, " -- nothing")
  refuses("invalid", "1 parameters, got 2 values", db.run, db, "SELECT ?", 1, 2)
  refuses("invalid", "expected nil, boolean, number or string", db.run, db, "SELECT ?", {})
  db:close()
  refuses("invalid", "was closed", db.exec, db, "SELECT 1")
  db:close()
end

function TestSqlite:test_rows_outlive_their_database()
  local next_row, rows
  do
    local db <close> = core.sqlite(":memory:")
    next_row, rows = db:rows("SELECT 7 AS a")
  end
  collectgarbage()
  lu.assertEquals(next_row(rows).a, 7)
  lu.assertNil(next_row(rows))
  lu.assertNil(next_row(rows))
end

TestStore = {}

local count = 0
local function fresh()
  count = count + 1
  return ("%s/%d/results.db"):format(folder, count)
end

local function a_record(number, more)
  local rec = {
    task = "vector/saxpy", impl = "naive", verdict = "passed", device = "sim", gpu = "none",
    params = { n = 10 }, knobs = { BLOCK = 256 }, seed = number, at = "2026-05-01T12:00:00Z",
    time = { median_us = 1.5, ci95_us = core.json_array { 1.4, 1.6 } },
    sources = { { name = "a.cu", sha = core.sha256("kernel") } },
    source_sha = core.sha256("kernel"),
  }
  for name, value in pairs(more or {}) do rec[name] = value end
  return rec, { sources = { { name = "a.cu", sha = core.sha256("kernel"), text = "kernel" } },
    samples = { 1.5, 1.25, 100.123456 }, key = "key " .. number }
end

function TestStore:test_a_record_comes_back_whole()
  local s <close> = store.open(fresh())
  local session, there = s:session("one", "run", { note = "x" })
  lu.assertFalse(there)
  local rec, extra = a_record(1)
  local whole = s:record(s:add(session, rec, extra))
  lu.assertEquals(whole.source_texts, { [core.sha256("kernel")] = "kernel" })
  lu.assertEquals(whole.samples_us, { 1.5, 1.25, 100.1235 })
  whole.source_texts, whole.samples_us = nil, nil
  lu.assertEquals(whole, rec)
end

function TestStore:test_columns_can_be_asked_with_sql()
  local s <close> = store.open(fresh())
  s:add(s:session("one", "run"), a_record(3))
  for row in s.db:rows("SELECT * FROM records") do
    lu.assertEquals({ row.task, row.impl, row.verdict, row.median_us, row.seed, row.params,
      row.knobs }, { "vector/saxpy", "naive", "passed", 1.5, 3, '{"n":10}', '{"BLOCK":256}' })
  end
end

function TestStore:test_an_evaluation_is_stored_once_in_its_session()
  local s <close> = store.open(fresh())
  local one, two = s:session("one", "tune"), s:session("two", "tune")
  lu.assertNotNil(s:add(one, a_record(1)))
  local again, extra = a_record(1)
  again.at = "2027-01-01T00:00:00Z"
  lu.assertNil(s:add(one, again, extra))
  lu.assertNotNil(s:add(two, again, extra))
  lu.assertEquals({ s:session("one", "tune") }, { one, true })
end

function TestStore:test_sessions_are_listed_and_named()
  local s <close> = store.open(fresh())
  s:add(s:session("one", "run"), a_record(1))
  s:add(s:session("one", "run"), a_record(2, { verdict = "wrong_result" }))
  lu.assertEquals(s:new_session("one", "run").name, "one-2")
  lu.assertEquals(s:new_session("one", "run").name, "one-3")
  local list = s:sessions()
  lu.assertEquals(#list, 3)
  lu.assertEquals({ list[1].name, list[1].records, list[1].passed, list[1].task },
    { "one", 2, 1, "vector/saxpy" })
  lu.assertEquals(list[2].records, 0)
  local e = refuses("not_found", "no session 'onee'", s.find_session, s, "onee")
  lu.assertStrContains(e.hint, "'one'")
end

function TestStore:test_jsonl_goes_out_and_in()
  local from <close> = store.open(fresh())
  local to <close> = store.open(fresh())
  local session = from:session("one", "run")
  for i = 1, 3 do from:add(session, a_record(i)) end
  local path = folder .. "/out.jsonl"
  local file <close> = io.open(path, "w")
  lu.assertEquals(from:export(nil, function(line) file:write(line, "\n\n") end), 3)
  file:close()
  lu.assertEquals({ to:import(path, "copy") }, { 3, 0 })
  lu.assertEquals({ to:import(path, "copy") }, { 0, 3 }) -- known already
  lu.assertEquals(to:record(2), from:record(2))
  lu.assertEquals(to:record(2).source_texts[core.sha256("kernel")], "kernel")
end

function TestStore:test_a_bad_line_imports_nothing_and_is_named()
  local s <close> = store.open(fresh())
  local path = folder .. "/bad.jsonl"
  local good = core.json_encode((a_record(1)))
  local function import(text)
    core.write_file(path, text)
    return pcall(s.import, s, path, "x")
  end
  for text, problem in pairs { ["{"] = "no JSON", ['{"a":1}'] = "a line that is no record",
    ["[1]"] = "a line that is no record", ["\xff"] = "no JSON",
    ['{"task":"t","verdict":"passed","time":{"median_us":-5}}'] = "time.median_us: expected",
    ['{"task":"t","verdict":"passed","time":{"median_us":0}}'] = "time.median_us: expected",
    ['{"task":"t","verdict":"passed","time":{}}'] = "time.median_us: expected",
    ['{"task":"t","verdict":"passed","time":{"median_us":5,"ci95_us":[4]}}'] = "time.ci95_us: exp",
    ['{"task":"t","verdict":"passed","time":5}'] = "record.time: expected object",
    ['{"task":"t","verdict":"passed","params":3}'] = "record.params: expected object",
    ['{"task":"t","verdict":"passed","audit":null}'] = "record.audit: expected object, got null",
    ['{"task":"t","verdict":"passed","findings":[{"text":5}]}'] = "record.findings[0].text",
    ['{"task":"t","verdict":"passed","gpu":{}}'] = "record.gpu: expected string",
    ['{"task":"t","verdict":"passed","samples_us":[1,-1]}'] = "samples_us[1]: expected",
    ['{"task":"t","verdict":"passed","counters":{"warp_instructions":-1}}'] = "expected a" } do
    local ok, e = import(good .. "\n" .. text .. "\n")
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, problem)
    lu.assertEquals(e.where, path .. ":2")
  end
  local rec, extra = a_record(2)
  local forged = store.whole(rec, extra)
  forged.source_texts[core.sha256("kernel")] = "another kernel"
  local ok, e = import(core.json_encode(forged))
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "does not have that SHA-256")
  lu.assertEquals(s:sessions(), {}) -- no session either
end

function TestStore:test_what_a_file_tells_is_not_mixed_with_what_was_run()
  local s <close> = store.open(fresh())
  s:session("own", "serve")
  local path = folder .. "/mixed.jsonl"
  core.write_file(path, core.json_encode((a_record(1))))
  local e = refuses("invalid", "records of perigee serve", s.import, s, path, "own")
  lu.assertStrContains(e.hint, "another session")
  lu.assertEquals(s:sessions()[1].records, 0)
end

function TestStore:test_other_files_are_refused()
  local text = folder .. "/text.db"
  core.write_file(text, ("this is no database"):rep(100))
  refuses("environment", "file is not a database", store.open, text)
  lu.assertEquals(core.read_file(text), ("this is no database"):rep(100))
  local other = folder .. "/other.db"
  core.sqlite(other):exec("CREATE TABLE mine(a)")
  refuses("invalid", "is not a results store", store.open, other)
  local newer = fresh()
  store.open(newer).db:exec("PRAGMA user_version = 99")
  refuses("unsupported", "has version 99", store.open, newer)
  refuses("environment", "unable to open", store.open, folder)
  refuses("not_found", "no results store", store.open, folder .. "/none.db", { readonly = true })
end

function TestStore:test_a_file_that_is_only_read_refuses_records()
  local path = fresh()
  local s <close> = store.open(path)
  local session = s:session("one", "run")
  local reader <close> = store.open(path, { readonly = true })
  refuses("environment", "readonly database", reader.add, reader, session, a_record(1))
  s:add(session, a_record(1))
  lu.assertEquals(reader:sessions()[1].records, 1)
end

function TestStore:test_a_file_that_is_only_read_writes_no_other_file()
  local path, other = fresh(), fresh()
  store.open(path):close()
  local reader <close> = store.open(path, { readonly = true })
  for _, sql in ipairs { "ATTACH '%s' AS x", "VACUUM INTO '%s'", "VACUUM main INTO '%s'" } do
    refuses("invalid", "authoriz", reader.db.exec, reader.db, sql:format(other))
    local file = io.open(other)
    lu.assertNil(file, sql)
  end
end

function TestStore:test_a_full_disk_is_an_error_and_loses_nothing()
  local s <close> = store.open(fresh())
  local session = s:session("one", "run")
  s:add(session, a_record(1))
  local pages
  for row in s.db:rows("PRAGMA page_count") do pages = row.page_count end
  s.db:exec(("PRAGMA max_page_count = %d"):format(pages + 2)) -- SQLite says the same as for a disk
  local function add(i)
    local rec, extra = a_record(i, { reason = ("x"):rep(20000) })
    return pcall(s.add, s, session, rec, extra)
  end
  local ok, e = add(2)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "environment")
  lu.assertStrContains(e.message, "full")
  s.db:exec("PRAGMA max_page_count = 100000")
  lu.assertTrue((add(2)))
  lu.assertEquals(s:sessions()[1].records, 2)
end

-- A script that adds records 1 to N as fast as it can and prints each number after it is stored.
local WRITER = [[
local store, core = require "perigee.store", require "perigee.core"
local path, name, most = arg[1], arg[2], tonumber(arg[3])
local s = store.open(path)
local session = s:session(name, "run")
for i = 1, most do
  s:add(session, { task = "t", verdict = "passed", params = { writer = core.getpid() }, seed = i },
    { key = name .. core.getpid() .. " " .. i })
  io.stdout:write(i, "\n")
  io.stdout:flush()
end
]]

function TestStore:test_several_writers_at_once_lose_nothing()
  local path, script = fresh(), folder .. "/writer.lua"
  core.write_file(script, WRITER)
  lines_of(("for i in 1 2 3; do '%s' %s %s shared 100 & done; wait"):format(BINARY, script, path))
  local s <close> = store.open(path)
  lu.assertEquals(#s:sessions(), 1)
  lu.assertEquals(s:sessions()[1].records, 300)
end

function TestStore:test_what_was_printed_survives_a_kill()
  local path, script = fresh(), folder .. "/writer.lua"
  core.write_file(script, WRITER)
  local printed = lines_of(("'%s' %s %s killed 1000000 & sleep 0.3; kill -9 $!; wait 2>/dev/null")
    :format(BINARY, script, path))
  local last = tonumber(printed:match("(%d+)\n$"))
  lu.assertTrue(last > 0)
  local s <close> = store.open(path)
  local stored = s:sessions()[1].records
  lu.assertTrue(stored == last or stored == last + 1) -- it may have been killed before it printed
  for row in s.db:rows("PRAGMA integrity_check") do lu.assertEquals(row.integrity_check, "ok") end
end

function TestStore:test_where_the_store_is()
  lu.assertEquals({ store.path("/x/y.db") }, { "/x/y.db", true })
  local command = "%s '%s' -- %s/path.lua"
  core.write_file(folder .. "/path.lua", 'print(require("perigee.store").path())')
  local function says(environment)
    return lines_of(command:format(environment, BINARY, folder):gsub(" %-%- ", " ")):gsub("\n", "")
  end
  lu.assertStrContains(says("env -u PERIGEE_DB -u XDG_DATA_HOME HOME=/h"),
    "/h/.local/share/perigee/results.db")
  lu.assertStrContains(says("env -u PERIGEE_DB XDG_DATA_HOME=/d"), "/d/perigee/results.db")
  lu.assertStrContains(says("env PERIGEE_DB=/p.db"), "/p.db")
end

local status = lu.LuaUnit.run()
lines_of("rm -rf " .. folder)
os.exit(status)
