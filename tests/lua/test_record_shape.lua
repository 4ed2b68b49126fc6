-- Records from files: whatever a field holds, a record is refused with its place, or all that reads
-- records can.
local lu = require "luaunit"
local core = require "perigee.core"
local comparison = require "perigee.comparison"
local drift = require "perigee.drift"
local explain = require "perigee.explain"
local files = require "perigee.files"
local outcome = require "perigee.serve.outcome"
local standings = require "perigee.standings"
local store = require "perigee.store"

local folder = files.temporary()

-- Records that have all that records can have: of a failure with its place, of counters, of a GPU.
local function examples()
  local list = {}
  for line in files.read("tests/cli/files/records.jsonl"):gmatch "[^\n]+" do
    list[#list + 1] = core.json_decode(line)
    if #list == 3 then break end
  end
  list[#list + 1] = { task = "vector/saxpy", impl = "x.cu", kind = "check", verdict = "race",
    device = "sim:check", params = { n = 5 }, set = { n = 5 }, seed = 1, at = "2026-05-01",
    reason = "race", failed_at = "n = 5", cases = 4, checked_by = core.json_array { "sim:check" },
    checks = core.json_array { { name = "z", ok = false, detail = "wrong", elements =
      core.json_array { { index = "0", expected = 1.5, got = 2 }, { index = "1" } } } },
    kernels = core.json_array { { name = "saxpy", registers = 12, shared_bytes = 4,
      local_bytes = 8, max_threads = 1024 } }, compile_log = "x.cu(1): error: e", hint = "h",
    failed_cases = { failed = 1, tried = 3, of = 4, pattern = "odd n" },
    findings = core.json_array { { kind = "race", text = "race\nin part", kernel = "saxpy",
      located = true, file = "x.cu", line = 5, block = core.json_array { 0, 0, 0 },
      thread = core.json_array { 1, 0, 0 } },
      { severity = "note", text = "t", where = "x.cu:1" } } }
  list[#list + 1] = { task = "vector/saxpy", impl = "naive", kind = "run", verdict = "passed",
    device = "sim:profile", params = { n = 5 }, knobs = { B = 4 }, versions = { perigee = "0.1" },
    counters = { complete = true, warp_instructions = 100 }, findings = core.json_array {},
    audit = { facts = { vector_access = { count = 1, text = "ld", where = "x.cu:2" } } } }
  return list
end

-- Every place below a value, as lists of keys.
local function places(value, path, found)
  for name, item in pairs(type(value) == "table" and value or {}) do
    local here = table.move(path, 1, #path, 1, {})
    here[#here + 1] = name
    found[#found + 1] = here
    places(item, here, found)
  end
  return found
end

local function copy(value)
  if type(value) ~= "table" then return value end
  local one = setmetatable({}, getmetatable(value))
  for name, item in pairs(value) do one[name] = copy(item) end
  return one
end

local function with(record, path, value)
  local changed = copy(record)
  local at = changed
  for i = 1, #path - 1 do at = at[path[i]] end
  at[path[#path]] = value
  return changed
end

local function each_of(list)
  local i = 0
  return function()
    i = i + 1
    if list[i] then return list[i], { id = i } end
  end
end

local number = 0

-- What perigee drift, compare and query do with records.
local function read_all(list)
  drift.series(each_of(list))
  comparison.rows(comparison.set(each_of(list)), comparison.set(each_of(list)), 5)
  for _, rec in ipairs(list) do
    explain.failure(rec)
    explain.findings(rec)
    outcome.lines(rec, outcome.of(rec, 1))
  end
  number = number + 1
  local s <close> = store.open(":memory:")
  local session = s:session("s", "import")
  for i, rec in ipairs(list) do s:add(session, rec, { key = tostring(i) }) end
  standings.history(s, { session = session })
  standings.boards(s, {})
end

local VALUES = { 5, -1.5, "x", true, core.null, core.json_array {}, {}, core.json_array { 1 },
  { a = 1 }, core.json_array { core.null } }

function TestRecords()
  local tried, refused = 0, 0
  for _, record in ipairs(examples()) do
    for _, path in ipairs(places(record, {}, {})) do
      for _, value in ipairs(VALUES) do
        local line = core.json_encode(with(record, path, value))
        local ok, rec = pcall(store.parse, line, "f.jsonl:1")
        tried, refused = tried + 1, refused + (ok and 0 or 1)
        if ok then
          local read, e = pcall(read_all, { rec, copy(rec), record })
          lu.assertTrue(read, line .. "\n" .. tostring(e))
        else
          lu.assertEquals({ rec.code, rec.where }, { "syntax", "f.jsonl:1" })
        end
      end
    end
  end
  lu.assertTrue(tried > 1000 and refused > tried / 2)
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
